package mcpfront

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// arguments are a call's, checked one by one: unknown names, missing ones and
// wrong types are named to the client.
type arguments map[string]any

// readArguments takes what the client sent, which may be nothing.
func readArguments(raw any, allowed ...string) (arguments, error) {
	if raw == nil {
		return arguments{}, nil
	}
	given, ok := raw.(map[string]any)
	if !ok {
		return nil, &argumentError{"arguments: must be an object"}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(allowed, name) {
			takes := "it takes none"
			if len(allowed) > 0 {
				takes = "it takes " + strings.Join(allowed, ", ")
			}
			return nil, &argumentError{fmt.Sprintf("%s: unknown parameter of this tool; %s", name, takes)}
		}
	}
	return given, nil
}

func (a arguments) text(name string) (string, error) {
	value, given := a[name]
	if !given {
		return "", &argumentError{name + ": is missing"}
	}
	text, ok := value.(string)
	if !ok {
		return "", &argumentError{name + ": must be a string"}
	}
	return text, nil
}

func (a arguments) texts(name string) ([]string, error) {
	value, given := a[name]
	if !given {
		return nil, &argumentError{name + ": is missing; give an array of domain patterns"}
	}
	list, ok := value.([]any)
	if !ok {
		return nil, &argumentError{name + ": must be an array of strings"}
	}
	texts := make([]string, len(list))
	for i, entry := range list {
		if texts[i], ok = entry.(string); !ok {
			return nil, &argumentError{fmt.Sprintf("%s[%d]: must be a string", name, i)}
		}
	}
	return texts, nil
}

func (a arguments) truth(name string, otherwise bool) (bool, error) {
	value, given := a[name]
	if !given {
		return otherwise, nil
	}
	truth, ok := value.(bool)
	if !ok {
		return false, &argumentError{name + ": must be true or false"}
	}
	return truth, nil
}
