// What each schema of a document says about the fields and items of a value, and which schemas apply to a given one.
import { isJsonObject, type Json, type JsonObject } from './json.ts'
import type { LinearPattern } from './linear-pattern.ts'
import type { SchemaDocument } from './schema-document.ts'
import type { Schema } from './schema-keyword.ts'

export interface SchemaShape {
  readonly fields: ReadonlyMap<string, Schema>
  readonly patterns: readonly (readonly [LinearPattern, Schema])[]
  /** For the fields that are not named. */
  readonly additional: Schema | undefined
  readonly unevaluatedFields: Schema | undefined
  readonly prefixItems: readonly Schema[]
  readonly items: Schema | undefined
  readonly contains: Schema | undefined
  readonly unevaluatedItems: Schema | undefined
  /** It, or something that applies with it, says that an object belongs here. */
  readonly saysObject: boolean
}

/** How a schema brings others along. */
interface Company {
  readonly always: readonly Schema[]
  readonly choices: readonly (readonly Schema[])[]
  readonly dependent: readonly (readonly [string, Schema])[]
  readonly test: Schema | undefined
  readonly whenTrue: Schema | undefined
  readonly whenFalse: Schema | undefined
}

interface KnownShape extends SchemaShape, Company {
  /** Only itself, where it brings nothing along: the common case, answered without a search. */
  alone?: readonly SchemaShape[]
}

export interface SchemaShapes {
  /** The shapes of all schemas that apply to the value where these do, each once. What stands in `not` does not. */
  applied(schemas: readonly Schema[], value: Json): readonly SchemaShape[]
  saysObject(schema: Schema): boolean
  /** Whether the value matches a schema. */
  matches(schema: Schema, value: Json): boolean
}

export interface SchemaShapesOptions {
  readonly document: SchemaDocument
  /** Whether a value matches a schema of the document. */
  matches(schema: Schema, value: Json): boolean
  /** Called for each schema at each place. May throw to end the work. */
  step(): void
}

export function createSchemaShapes({ document, matches, step }: SchemaShapesOptions): SchemaShapes {
  const known = new Map<JsonObject, KnownShape>()

  function shapeOf(node: JsonObject): KnownShape {
    const before = known.get(node)
    if (before !== undefined) return before
    const company = readCompany(node, document)
    const inner = inCompany(company)
    const shape: KnownShape = {
      ...readShape(node, document),
      ...company,
      saysObject: isObject(node) || inner.some(saysObject),
    }
    if (inner.length === 0 && company.test === undefined) shape.alone = [shape]
    known.set(node, shape)
    return shape
  }

  function saysObject(schema: Schema): boolean {
    return typeof schema === 'object' && shapeOf(schema).saysObject
  }

  function gather(schema: Schema, value: Json, applied: Set<SchemaShape>): void {
    if (typeof schema === 'boolean') return
    step()
    const shape = shapeOf(schema)
    // Alternatives that refer to each other would else be gathered again by each.
    if (applied.has(shape)) return
    applied.add(shape)
    for (const next of shape.always) gather(next, value, applied)
    for (const choice of shape.choices) {
      const matching = choice.filter((branch) => matches(branch, value))
      // An invalid value is told so elsewhere; until then any alternative may have been meant.
      for (const branch of matching.length > 0 ? matching : choice) gather(branch, value, applied)
    }
    if (shape.test !== undefined) {
      const isTrue = matches(shape.test, value)
      if (isTrue) gather(shape.test, value, applied)
      gather((isTrue ? shape.whenTrue : shape.whenFalse) ?? true, value, applied)
    }
    if (isJsonObject(value)) {
      for (const [field, next] of shape.dependent)
        if (Object.hasOwn(value, field)) gather(next, value, applied)
    }
  }

  return {
    applied(schemas, value) {
      const [only] = schemas
      if (schemas.length === 1 && typeof only === 'object') {
        const { alone } = shapeOf(only)
        if (alone !== undefined) return alone
      }
      const applied = new Set<SchemaShape>()
      for (const schema of schemas) gather(schema, value, applied)
      return [...applied]
    },
    saysObject,
    matches,
  }
}

const mapIn = (node: JsonObject, name: string) => Object.entries((node[name] ?? {}) as Record<string, Schema>)
const listIn = (node: JsonObject, name: string) => (node[name] ?? []) as readonly Schema[]
const oneIn = (node: JsonObject, name: string) => node[name] as Schema | undefined

function readShape(node: JsonObject, document: SchemaDocument): Omit<SchemaShape, 'saysObject'> {
  return {
    fields: new Map(mapIn(node, 'properties')),
    patterns: mapIn(node, 'patternProperties').map(
      ([source, schema]) => [document.pattern(source), schema] as const,
    ),
    additional: oneIn(node, 'additionalProperties'),
    unevaluatedFields: oneIn(node, 'unevaluatedProperties'),
    prefixItems: listIn(node, 'prefixItems'),
    items: oneIn(node, 'items'),
    contains: oneIn(node, 'contains'),
    unevaluatedItems: oneIn(node, 'unevaluatedItems'),
  }
}

function readCompany(node: JsonObject, document: SchemaDocument): Company {
  const dependent = [...mapIn(node, 'dependentSchemas'), ...mapIn(node, 'dependencies')]
  return {
    always: [...document.targets(node), ...listIn(node, 'allOf')],
    choices: [listIn(node, 'anyOf'), listIn(node, 'oneOf')].filter((choice) => choice.length > 0),
    // `dependencies` may hold lists of names as well.
    dependent: dependent.filter(([, schema]) => !Array.isArray(schema)),
    test: oneIn(node, 'if'),
    whenTrue: oneIn(node, 'then'),
    whenFalse: oneIn(node, 'else'),
  }
}

function isObject(node: JsonObject): boolean {
  return (
    [node.type].flat().includes('object') ||
    node.properties !== undefined ||
    node.patternProperties !== undefined
  )
}

/** All but the test of a condition, which asks and does not say. */
function inCompany({ always, choices, dependent, whenFalse, whenTrue }: Company): readonly Schema[] {
  const conditional = [whenTrue, whenFalse].filter((schema) => schema !== undefined)
  return [...always, ...choices.flat(), ...dependent.map(([, schema]) => schema), ...conditional]
}
