// The fields of the input that rules read: each is looked up once for all rules that read it.
import type { Condition } from '../resource/resolved-governance.ts'
import type { Json } from '../util/json.ts'
import { readPath, splitPointer } from '../util/pointer.ts'
import { type Judge, judgeOf } from './condition.ts'

/** Numbers the fields while rules are compiled. */
export interface FieldList {
  readonly pointers: readonly string[]
  indexOf(pointer: string): number
  reader(input: Json | undefined): Reader
}

export interface Reader {
  read(field: number): Json | undefined
}

/** A condition, compiled. */
export interface ReadCondition extends Pick<Condition, 'op' | 'value'> {
  readonly judge: Judge
  readonly field: number
}

export function createFieldList(): FieldList {
  const pointers: string[] = []
  const paths: (readonly string[] | undefined)[] = []
  const numbers = new Map<string, number>()
  return {
    pointers,
    indexOf(pointer) {
      const known = numbers.get(pointer)
      if (known !== undefined) return known
      numbers.set(pointer, pointers.length)
      paths.push(splitPointer(pointer))
      return pointers.push(pointer) - 1
    },
    reader(input) {
      const values = new Array<Json | undefined | typeof UNREAD>(pointers.length).fill(UNREAD)
      return {
        read(field) {
          const known = values[field]
          if (known !== UNREAD) return known
          const path = paths[field]
          const value = path === undefined ? undefined : readPath(input, path)
          values[field] = value
          return value
        },
      }
    },
  }
}

const UNREAD = Symbol('not read yet')

export function readConditions(
  conditions: readonly Condition[],
  fields: FieldList,
): readonly ReadCondition[] {
  return conditions.map(({ field, ...comparison }) => ({
    ...comparison,
    judge: judgeOf(comparison),
    field: fields.indexOf(field),
  }))
}

/** All of them; what cannot be judged counts as true. */
export function allFire(conditions: readonly ReadCondition[], reader: Reader): boolean {
  for (const condition of conditions)
    if (condition.judge(reader.read(condition.field)) === false) return false
  return true
}

/** All of them; what cannot be judged counts as false. */
export function allHold(conditions: readonly ReadCondition[], reader: Reader): boolean {
  for (const { judge, field } of conditions) if (judge(reader.read(field)) !== true) return false
  return true
}
