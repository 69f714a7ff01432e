package sandbox

import (
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

// private reports why a directory is not the user's alone, or nil: the owner must be the user or the administrators'
// group. Access lists are inherited from the user's profile, where nobody else may write.
func private(dir string, _ os.FileInfo) error {
	sd, err := windows.GetNamedSecurityInfo(dir, windows.SE_FILE_OBJECT, windows.OWNER_SECURITY_INFORMATION)
	if err != nil {
		return fmt.Errorf("read its owner: %w", err)
	}
	owner, _, err := sd.Owner()
	if err != nil {
		return fmt.Errorf("read its owner: %w", err)
	}
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return fmt.Errorf("read the user: %w", err)
	}
	if !owner.Equals(user.User.Sid) && !owner.IsWellKnown(windows.WinBuiltinAdministratorsSid) {
		return fmt.Errorf("it belongs to another user; name a directory of your own")
	}
	return nil
}
