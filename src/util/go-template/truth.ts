// Which values count as true.
import type { Budget } from './budget.ts'
import type { Value } from './go-value.ts'

/** What Go takes for true: what is not the zero of its type, and not empty. */
export function isTrue(value: Value, budget: Budget): boolean {
  switch (value.kind) {
    case 'none':
    case 'nil':
      return false
    case 'bool':
      return value.value
    case 'int':
    case 'uint8':
      return value.value !== 0n
    case 'float64':
      return value.value !== 0
    case 'complex128':
      return value.real !== 0 || value.imaginary !== 0
    case 'string':
      return value.value !== ''
    case 'slice':
      return value.length > 0
    case 'map':
      return budget.countFields(value.fields) > 0
  }
}
