package mcpfront

import (
	"strings"
	"sync"
	"unicode"

	"github.com/mark3labs/mcp-go/mcp"
)

// maxClientName bounds, in runes, what a client may call itself.
const maxClientName = 64

// mcpSession is what mcp-go keeps of a connection.
type mcpSession struct {
	id     string
	named  func(string) // hears what the client calls itself
	unused chan mcp.JSONRPCNotification

	mu          sync.Mutex // guards below
	initialized bool
	introduced  bool // a client keeps its first name: the person may be reading it
	level       mcp.LoggingLevel
	info        mcp.Implementation
	can         mcp.ClientCapabilities
}

func newMCPSession(named func(string)) *mcpSession {
	// Our notifications go out by the connection's own writer; mcp-go's wait here
	// unread, and it drops them when the channel is full.
	return &mcpSession{named: named, unused: make(chan mcp.JSONRPCNotification, 1), level: mcp.LoggingLevelInfo}
}

func (s *mcpSession) SessionID() string { return s.id }

func (s *mcpSession) NotificationChannel() chan<- mcp.JSONRPCNotification { return s.unused }

func (s *mcpSession) Initialize() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.initialized = true
}

func (s *mcpSession) Initialized() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.initialized
}

func (s *mcpSession) SetLogLevel(level mcp.LoggingLevel) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.level = level
}

func (s *mcpSession) GetLogLevel() mcp.LoggingLevel {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.level
}

func (s *mcpSession) SetClientInfo(info mcp.Implementation) {
	s.mu.Lock()
	again := s.introduced
	if !again {
		s.info, s.introduced = info, true
	}
	s.mu.Unlock()
	if again {
		return
	}
	s.named(cleanName(info.Name))
}

func (s *mcpSession) GetClientInfo() mcp.Implementation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.info
}

func (s *mcpSession) SetClientCapabilities(can mcp.ClientCapabilities) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.can = can
}

func (s *mcpSession) GetClientCapabilities() mcp.ClientCapabilities {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.can
}

// cleanName makes a client's name fit to be shown: no control, formatting or
// direction characters, and not endless.
func cleanName(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, name)
	name = strings.Join(strings.Fields(name), " ")
	if runes := []rune(name); len(runes) > maxClientName {
		name = string(runes[:maxClientName-1]) + "…"
	}
	if name == "" {
		return "an agent without a name"
	}
	return name
}
