// Finds the fields of a value that its schema does not declare (S5).
//
// At each place in the value all schemas that apply there are gathered: the ones that every value must match, and of
// the alternatives those that match this one. A field that none of them declares is undeclared, unless no schema says
// that an object belongs there, or one speaks of the other fields itself. What stands in `not` declares nothing.
// Looking at the value, instead of adding rules to the schema, leaves the choice between alternatives untouched.
import { isJsonObject, type Json, type JsonObject, type Violation } from './json.ts'
import { clipPointer, escapePointer } from './pointer.ts'
import type { Schema } from './schema-keyword.ts'
import { unknownFieldMessage } from './schema-message.ts'
import type { SchemaShape, SchemaShapes } from './schema-shape.ts'
import { MAX_VIOLATIONS, type Violations } from './schema-violation.ts'

interface Found {
  readonly list: Violation[]
  more: number
}

export function findUndeclaredFields(root: Schema, value: Json, shapes: SchemaShapes): Violations {
  const found: Found = { list: [], more: 0 }
  search(value, [root], '')
  return found

  function search(part: Json, schemas: readonly Schema[], path: string): void {
    if (typeof part !== 'object' || part === null || schemas.length === 0) return
    const applied = shapes.applied(schemas, part)
    if (applied.length === 0) return
    if (isJsonObject(part)) {
      searchFields(part, schemas.some(shapes.saysObject), applied, path)
      return
    }
    for (const [index, item] of part.entries()) {
      if (typeof item === 'object' && item !== null)
        search(item, itemDeclarations(index, applied), `${path}/${index}`)
    }
  }

  function searchFields(
    part: JsonObject,
    isClosed: boolean,
    applied: readonly SchemaShape[],
    path: string,
  ): void {
    for (const name of Object.keys(part)) {
      const item = part[name] ?? null
      // Most fields are plain and named, and need no look into what their schemas say.
      if ((typeof item !== 'object' || item === null) && isNamed(name, applied)) continue
      const declared = fieldDeclarations(name, applied)
      if (declared.length > 0) {
        if (typeof item === 'object') search(item, declared, `${path}/${escapePointer(name)}`)
      } else if (isClosed) {
        if (found.list.length < MAX_VIOLATIONS) found.list.push(undeclared(name, path, applied))
        else found.more++
      }
    }
  }
}

function undeclared(name: string, path: string, applied: readonly SchemaShape[]): Violation {
  return {
    path: clipPointer(`${path}/${escapePointer(name)}`),
    message: unknownFieldMessage(name, knownFields(applied)),
  }
}

function knownFields(applied: readonly SchemaShape[]): readonly string[] {
  return [...new Set(applied.flatMap((shape) => [...shape.fields.keys()]))]
}

function isNamed(name: string, applied: readonly SchemaShape[]): boolean {
  for (const shape of applied) if (shape.fields.has(name)) return true
  return false
}

function itemDeclarations(index: number, applied: readonly SchemaShape[]): readonly Schema[] {
  return applied
    .map((shape) => shape.prefixItems[index] ?? shape.items ?? shape.unevaluatedItems)
    .filter((schema) => schema !== undefined)
}

function fieldDeclarations(name: string, applied: readonly SchemaShape[]): readonly Schema[] {
  const declared: Schema[] = []
  for (const shape of applied) {
    const before = declared.length
    const field = shape.fields.get(name)
    if (field !== undefined) declared.push(field)
    for (const [pattern, schema] of shape.patterns) if (pattern.test(name)) declared.push(schema)
    if (declared.length === before && shape.additional !== undefined) declared.push(shape.additional)
  }
  // `unevaluatedProperties` speaks of what nothing else does.
  if (declared.length > 0) return declared
  return applied.map((shape) => shape.unevaluatedFields).filter((schema) => schema !== undefined)
}
