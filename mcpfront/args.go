package mcpfront

import (
	"fmt"
	"maps"
	"math"
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

// number reads a whole number between two bounds.
func (a arguments) number(name string, otherwise, least, most int) (int, error) {
	value, given := a[name]
	if !given {
		return otherwise, nil
	}
	number, ok := value.(float64)
	if !ok || number != math.Trunc(number) || number < float64(least) || number > float64(most) {
		return 0, &argumentError{fmt.Sprintf("%s: must be a whole number from %d to %d", name, least, most)}
	}
	return int(number), nil
}

// textOr is a text that may be missing.
func (a arguments) textOr(name, otherwise string) (string, error) {
	if _, given := a[name]; !given {
		return otherwise, nil
	}
	return a.text(name)
}

// choice is one of a few texts; the first is what a missing one means.
func (a arguments) choice(name string, among ...string) (string, error) {
	text, err := a.textOr(name, among[0])
	if err == nil && !slices.Contains(among, text) {
		named := slices.DeleteFunc(slices.Clone(among), func(s string) bool { return s == "" })
		return "", &argumentError{fmt.Sprintf("%s: must be one of %s", name, strings.Join(named, ", "))}
	}
	return text, err
}
