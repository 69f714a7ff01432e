package limits

// What a review of a card finds beyond the rules that reject it. None of it rejects.
const (
	UIIDMissing       Code = "ui_id_missing"        // ui.input, text, html or value with an id that the document lacks (D12)
	HandlerIDMissing  Code = "handler_id_missing"   // ui.on for an element that is never there
	ControlUnheard    Code = "control_unheard"      // a control that is read, but moving it does nothing
	ControlUnread     Code = "control_unread"       // a control that is neither read nor listened to
	ControlUnlabelled Code = "control_unlabelled"   // a control without a label
	TablePartBare     Code = "table_part_bare"      // rows or cells given to ui.html without their table (R62)
	HTMLUserText      Code = "html_user_text"       // what a user typed goes into ui.html as markup
	NumberUnbounded   Code = "number_unbounded"     // a number from a user is used without any bound
	ClickOnly         Code = "click_only"           // controls are read at clicks alone (R87)
	NameUndefined     Code = "name_undefined"       // a name that does not exist where a card runs (R90)
	UIMemberUnknown   Code = "ui_member_unknown"    // a call of ui beside the five
	EventMember       Code = "event_member_missing" // a member of a DOM event that a handler's event lacks (R51)
	LocaleIgnored     Code = "locale_ignored"       // locales and options, which the engine passes over
	UIValueType       Code = "ui_value_type"        // something else than a string for ui.text, html or value (R56)
	InputObject       Code = "input_object"         // the object of ui.input where its value is meant (R52)
	OutputDead        Code = "output_dead"          // an empty element with an id that nothing ever fills
	Headroom          Code = "headroom"             // the result or a field is close to its limit (R3–R9)
	ScriptUnread      Code = "script_unread"        // the script runs, but could not be read for the checks above
)

// What running a card for its author finds.
const (
	RunFailed           Code = "run_failed"           // the script itself ended the activation
	BudgetNear          Code = "budget_near"          // a round took 80 % or more of what it may
	SummaryContradicted Code = "summary_contradicted" // the summary states a number that the display shows otherwise
	SummaryUnshown      Code = "summary_unshown"      // the summary states a number that the display never shows
	InputEndsCard       Code = "input_ends_card"      // something that a user can do ends the activation
	DisplayOdd          Code = "display_odd"          // NaN, undefined, Infinity or [object Object] is shown
	StaleState          Code = "stale_state"          // the display depends on edits before the last ones: state in variables (R84)
	ClickState          Code = "click_state"          // likewise, on earlier clicks
	RaceStale           Code = "race_stale"           // an edit made while a round runs leaves the display as it was (R82–R87)
)
