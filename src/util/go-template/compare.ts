// Go's eq, ne, lt, le, gt and ge: only values of one kind can be compared.
import { TemplateFault } from './fault.ts'
import { isNothing, typeName, type Value } from './go-value.ts'

const isInt = (value: Value): value is Value & { kind: 'int' | 'uint8' } =>
  value.kind === 'int' || value.kind === 'uint8'

const isComposite = (value: Value): boolean => value.kind === 'map' || value.kind === 'slice'

/** The first is equal to one of the others. */
export function isEqual(first: Value, others: readonly Value[]): boolean {
  if (others.length === 0) throw new TemplateFault('eq has nothing to compare with. Fix: give it two values')
  return others.some((other) => isSame(first, other))
}

function isSame(a: Value, b: Value): boolean {
  if (isNothing(a) || isNothing(b)) return isNothing(a) && isNothing(b)
  if (isInt(a) && isInt(b)) return a.value === b.value
  if (a.kind !== b.kind) throw mismatch(a, b)
  if (isComposite(a))
    throw new TemplateFault(`${typeName(a)} cannot be compared. Fix: compare a field or len`)
  if (a.kind === 'complex128' && b.kind === 'complex128') {
    return a.real === b.real && a.imaginary === b.imaginary
  }
  return 'value' in a && 'value' in b && a.value === b.value
}

export function isLess(a: Value, b: Value): boolean {
  for (const value of [a, b]) {
    if (isNothing(value)) throw new TemplateFault('a missing value has no order. Fix: use default')
    if (isComposite(value) || value.kind === 'bool' || value.kind === 'complex128') {
      throw new TemplateFault(`${typeName(value)} has no order. Fix: compare numbers or texts`)
    }
  }
  if (isInt(a) && isInt(b)) return a.value < b.value
  if (a.kind === 'float64' && b.kind === 'float64') return a.value < b.value
  if (a.kind === 'string' && b.kind === 'string') return a.value < b.value
  throw mismatch(a, b)
}

function mismatch(a: Value, b: Value): TemplateFault {
  const kinds = [a.kind, b.kind]
  const isWhole = kinds.includes('float64') && kinds.includes('int')
  const fix = isWhole ? 'numbers of the input are float64: write 1.0 for 1' : 'compare values of one kind'
  return new TemplateFault(`${typeName(a)} and ${typeName(b)} cannot be compared. Fix: ${fix}`)
}
