package admission

import (
	v1 "github.com/tiergate/tiergate/api/v1"
)

// domainOf is what tells the memory domain of a process; either is empty where it could not be read.
func domainOf(f *v1.NodeFacts) (boot, device string) {
	if f.Shm != nil {
		device = f.Shm.Device
	}
	return f.BootID, device
}

// unknownDomain is the number of ranks that may be in any memory domain.
const unknownDomain = -1

// Domains numbers the memory domains of ranks from 0, in the order of reports: equal boot id and device share one.
// Ranks where either is missing have -1.
func Domains(reports []Ranked) []int64 {
	type key struct{ boot, device string }
	list := make([]int64, len(reports))
	numbers := make(map[key]int64)
	for i, r := range reports {
		boot, device := domainOf(&r.Report.Facts)
		if boot == "" || device == "" {
			list[i] = unknownDomain
			continue
		}
		number, known := numbers[key{boot, device}]
		if !known {
			number = int64(len(numbers))
			numbers[key{boot, device}] = number
		}
		list[i] = number
	}
	return list
}
