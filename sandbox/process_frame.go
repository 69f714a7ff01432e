package sandbox

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"github.com/klauspost/compress/s2"

	"example.com/cardrun/limits"
)

// What the program and its worker processes say to each other is frames: the length of what follows in 4 bytes, little-endian,
// a byte that names the kind, and the body. The program asks and the worker answers, one question at a time; while a worker
// runs a round, any byte that comes means that the round must stop.
const (
	frameSetup  = 'S' // to the worker, first: setup
	frameRound  = 'R' // run or compile: question; answered by frameDone
	frameFreeze = 'F' // limit in 8 bytes, 1 to close the guest as well; answered by frameFrozen or frameLarge
	frameClose  = 'X' // close the guest, if there is one; answered by frameClosed
	frameStop   = '!' // stop the round; ignored when there is none

	frameBanner = 'B' // from the worker, first: workerBanner
	frameReady  = 'Y' // identity, then the cache's error as text
	frameFailed = 'N' // why it cannot serve, as text
	frameDone   = 'D' // answer
	frameFrozen = 'Z' // frozen state
	frameClosed = 'C' // there is no guest any more
	frameLarge  = 'L' // the guest has too much in its memory to be frozen
)

// workerBanner names this protocol. A program and its workers are the same executable, so it never meets another version.
const workerBanner = "cardrun worker 1\n"

const (
	frameHead = 4 + 1
	// maxSetup and maxQuestion bound what a worker takes, maxText and maxFrozen what the program takes of it; an answer's bound
	// depends on the question.
	maxText    = 4 << 10
	maxSetup   = 1 << 20
	answerHead = 64 // what an answer has beside its texts, and some room
	frameStep  = 1 << 20
)

// maxFrozen is how long frozen state can be, and maxQuestion a question.
var (
	maxFrozen   = frozenPages + s2.MaxEncodedLen(maximumPages*pageSize/kernelPage*(pageEntry+kernelPage))
	maxQuestion = maxFrozen + 1<<20
)

var errFrame = errors.New("malformed frame")

// appendFrame starts a frame in b; seal ends it.
func appendFrame(b []byte, kind byte) []byte { return append(b, 0, 0, 0, 0, kind) }

func seal(b []byte) []byte {
	binary.LittleEndian.PutUint32(b, uint32(len(b)-frameHead))
	return b
}

// readFrame reads one frame of at most that many bytes into buf, which it lets grow only with what really came.
func readFrame(r *bufio.Reader, buf []byte, most int) (kind byte, body []byte, err error) {
	f := frames{r: r, body: buf}
	return f.next(most)
}

// frames reads one frame after another. Whoever was stopped by a deadline may go on where he was.
type frames struct {
	r     *bufio.Reader
	begun bool // there was a head
	kind  byte
	left  int    // what has not come yet
	body  []byte // what has; its memory is used again
}

// next reads a frame of at most that many bytes. Its body is good until the next call.
func (f *frames) next(most int) (kind byte, body []byte, err error) {
	if !f.begun {
		f.body = f.body[:0]
		head, err := f.r.Peek(frameHead)
		if err != nil {
			if len(head) > 0 && err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return 0, f.body, err
		}
		n := uint64(binary.LittleEndian.Uint32(head))
		if f.kind = head[4]; n > uint64(most) {
			return f.kind, f.body, fmt.Errorf("%w: %d bytes, more than %d", errFrame, n, most)
		}
		if _, err := f.r.Discard(frameHead); err != nil {
			return f.kind, f.body, err
		}
		f.begun, f.left = true, int(n)
	}
	for f.left > 0 {
		step, start := min(f.left, frameStep), len(f.body)
		if cap(f.body)-start < step {
			f.body = append(make([]byte, 0, max(2*cap(f.body), start+step)), f.body...)
		}
		n, err := io.ReadFull(f.r, f.body[start:start+step])
		f.body = f.body[:start+n]
		f.left -= n
		if err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return f.kind, f.body, err
		}
	}
	f.begun = false
	return f.kind, f.body, nil
}

// fields reads a frame's body field by field. After a field that is not there, bad is set and every field is zero.
type fields struct {
	b   []byte
	bad bool
}

func (f *fields) take(n uint64) []byte {
	if f.bad || n > uint64(len(f.b)) {
		f.bad = true
		return nil
	}
	out := f.b[:n:n]
	f.b = f.b[n:]
	return out
}

func (f *fields) byte() byte {
	if b := f.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (f *fields) u64() uint64 {
	if b := f.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (f *fields) bool() bool {
	v := f.byte()
	f.bad = f.bad || v > 1
	return v == 1
}

// bytes is a field with its length before it. It shares the frame's memory.
func (f *fields) bytes() []byte { return f.take(f.u64()) }

// end is the error of a body that is too short, or longer than its fields.
func (f *fields) end() error {
	if f.bad || len(f.b) > 0 {
		return errFrame
	}
	return nil
}

func appendU64(b []byte, v uint64) []byte { return binary.LittleEndian.AppendUint64(b, v) }

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

func appendField[T string | []byte](b []byte, v T) []byte {
	return append(appendU64(b, uint64(len(v))), v...)
}

// setup is what a worker is started with.
type setup struct {
	prelude           string
	cacheDir, userDir string // named by the caller, or the user's own
	noCache           bool
}

func (s setup) append(b []byte) []byte {
	b = appendField(appendField(appendField(b, s.prelude), s.cacheDir), s.userDir)
	return appendBool(b, s.noCache)
}

func parseSetup(body []byte) (setup, error) {
	f := fields{b: body}
	s := setup{prelude: string(f.bytes()), cacheDir: string(f.bytes()), userDir: string(f.bytes()), noCache: f.bool()}
	return s, f.end()
}

// How a guest comes into a worker with a question.
const (
	beginNot    = iota // it is there
	beginFresh         // from the image
	beginThaw          // from frozen state
	beginThawAs        // likewise, for another activation
	beginReseed        // likewise, with random numbers from the activation's seed
)

// beginning is how a guest comes into being. What is not needed for its kind is zero.
type beginning struct {
	kind   byte
	seed   uint64
	now    int64 // nanoseconds since 1970, or realClock
	frozen []byte
}

func (g beginning) activation() Activation {
	a := Activation{Seed: &g.seed}
	if g.now != realClock {
		a.Now = time.Unix(0, g.now)
	}
	return a
}

// What is asked for.
const (
	modeRun     = iota
	modeCompile // Round.Script alone
	modeOpen    // nothing but that the guest begins
)

// question asks for a round, or for a script to be compiled.
type question struct {
	begin  beginning
	budget time.Duration
	fuel   int64
	mode   byte
	once   bool // the guest ends with the answer
	Round
}

func (q question) append(b []byte) []byte {
	b = append(b, q.begin.kind)
	b = appendU64(appendU64(b, q.begin.seed), uint64(q.begin.now))
	b = appendField(b, q.begin.frozen)
	b = appendU64(appendU64(b, uint64(q.budget)), uint64(q.fuel))
	b = appendU64(appendBool(append(b, q.mode), q.once), uint64(q.MaxOutput))
	return appendField(appendField(b, q.Input), q.Script)
}

func parseQuestion(body []byte) (q question, err error) {
	f := fields{b: body}
	q.begin = beginning{kind: f.byte(), seed: f.u64(), now: int64(f.u64()), frozen: f.bytes()}
	q.budget, q.fuel = time.Duration(f.u64()), int64(f.u64())
	q.mode, q.once, q.MaxOutput = f.byte(), f.bool(), int(f.u64())
	q.Input, q.Script = f.bytes(), string(f.bytes())
	return q, f.end()
}

// answer is what came of a question.
type answer struct {
	ending ending
	usage  Usage
	kind   ThrownKind
	output []byte
	detail []byte
}

func (a answer) append(b []byte) []byte {
	b = append(b, byte(a.ending), byte(a.kind))
	b = appendU64(appendU64(b, uint64(a.usage.Elapsed)), uint64(a.usage.Fuel))
	b = appendU64(appendU64(b, uint64(a.usage.Microtasks)), uint64(a.usage.HeapBytes))
	b = appendBool(appendBool(b, a.usage.ReadClock), a.usage.ReadRandom)
	return appendField(appendField(b, a.output), a.detail)
}

// answerLength is how long the body of an answer may be, for output of that many UTF-16 code units.
func answerLength(units int) int { return answerHead + 3*units + 3*maxDetail }

// checkText refuses text that an engine cannot have given: it is UTF-8 of at most so many UTF-16 code units.
func checkText(b []byte, units int) error {
	if len(b) > 3*units || !utf8.Valid(b) {
		return fmt.Errorf("%w: %d bytes that are no UTF-8 of %d units", errFrame, len(b), units)
	}
	if n := limits.Length(string(b)); n > units {
		return fmt.Errorf("%w: %d units, more than %d", errFrame, n, units)
	}
	return nil
}

// parseAnswer takes an answer apart and refuses what a worker that is in its right mind cannot have said. Its texts are copies.
func parseAnswer(body []byte, q question, took time.Duration) (a answer, err error) {
	f := fields{b: body}
	a.ending, a.kind = ending(f.byte()), ThrownKind(f.byte())
	elapsed, fuel, jobs, heap := f.u64(), f.u64(), f.u64(), f.u64()
	a.usage.ReadClock, a.usage.ReadRandom = f.bool(), f.bool()
	output, detail := f.bytes(), f.bytes()
	if err := f.end(); err != nil {
		return answer{}, err
	}
	switch {
	case a.ending >= endings || a.kind > Syntax:
		return answer{}, fmt.Errorf("%w: ending %d, kind %d", errFrame, a.ending, a.kind)
	case fuel > 1<<62 || jobs > limits.Microtasks || heap > maximumPages*pageSize:
		return answer{}, fmt.Errorf("%w: fuel %d, %d jobs, %d bytes of heap", errFrame, fuel, jobs, heap)
	case len(output) > 0 && a.ending > endThrown || len(detail) > 0 && a.ending != endThrown:
		return answer{}, fmt.Errorf("%w: text with ending %d", errFrame, a.ending)
	}
	if err := checkText(output, q.MaxOutput); err != nil {
		return answer{}, fmt.Errorf("output: %w", err)
	}
	if err := checkText(detail, maxDetail); err != nil {
		return answer{}, fmt.Errorf("description: %w", err)
	}
	a.usage.Elapsed = time.Duration(min(elapsed, uint64(took)))
	a.usage.Fuel, a.usage.Microtasks, a.usage.HeapBytes = int64(fuel), int(jobs), int64(heap)
	if q.mode == modeRun && a.ending <= endThrown {
		a.output = append([]byte{}, output...)
	}
	a.detail = append([]byte{}, detail...)
	return a, nil
}
