// Rewrites a schema document into what the validation engine is given: known keywords only, references flat, loops counted.
import { isJsonObject, type Json, type JsonObject } from './json.ts'
import type { SchemaDocument } from './schema-document.ts'
import { isSchema, SCHEMA_KEYWORDS, type Schema } from './schema-keyword.ts'

/** Counts one step of work and stops a run that has done too many, or found too much. */
export const STEP = 'writ:step'
/** Always fails: the field is not known, or the item is one too many. Its value lists the fields that are known. */
export const UNKNOWN = 'writ:unknown'

export interface EngineSchema {
  readonly schema: Schema
  /** The definition that a reference in `schema` leads to, by the source node. */
  readonly definitionOf: ReadonlyMap<JsonObject, string>
  /** The definition that each rewritten node is part of; none for the root's own. */
  readonly ownerOf: ReadonlyMap<object, string>
  /** The node of the document that each rewritten one comes from. */
  readonly sourceOf: ReadonlyMap<object, JsonObject>
  /** The definitions that can be reached from one, itself included. */
  reach(definition: string): ReadonlySet<string>
}

/** Keywords whose schema is tried once per item or key: as many times as the value is large. */
const LOOPS: ReadonlySet<string> = new Set([
  'items',
  'unevaluatedItems',
  'additionalProperties',
  'unevaluatedProperties',
  'propertyNames',
])

export function createEngineSchema(document: SchemaDocument): EngineSchema {
  const writer = new Writer(document)
  const { definitionOf, ownerOf, sourceOf } = writer
  const schema = writer.write()
  return {
    schema,
    definitionOf,
    ownerOf,
    sourceOf,
    reach: (definition) => writer.reach(definition),
  }
}

class Writer {
  readonly definitionOf = new Map<JsonObject, string>()
  readonly ownerOf = new Map<object, string>()
  readonly sourceOf = new Map<object, JsonObject>()
  readonly #document: SchemaDocument
  readonly #pending: [string, JsonObject][] = []
  readonly #leadsTo = new Map<string, Set<string>>()
  readonly #reached = new Map<string, ReadonlySet<string>>()
  #owner: string | undefined

  constructor(document: SchemaDocument) {
    this.#document = document
  }

  write(): Schema {
    const root = this.#node(this.#document.root)
    if (typeof root === 'boolean') return root
    const $defs: Record<string, Schema> = {}
    for (let next = this.#pending.pop(); next !== undefined; next = this.#pending.pop()) {
      const [definition, source] = next
      this.#owner = definition
      $defs[definition] = this.#node(source)
    }
    // The same object: what is known of it is found by its identity.
    return Object.assign(root, { $defs })
  }

  reach(definition: string): ReadonlySet<string> {
    const known = this.#reached.get(definition)
    if (known !== undefined) return known
    const reached = new Set([definition])
    for (const next of reached) for (const further of this.#leadsTo.get(next) ?? []) reached.add(further)
    this.#reached.set(definition, reached)
    return reached
  }

  #node(source: Schema): Schema {
    if (typeof source === 'boolean') return source
    const node: Record<string, Json> = {}
    this.sourceOf.set(node, source)
    if (this.#owner !== undefined) this.ownerOf.set(node, this.#owner)
    for (const [name, keyword] of SCHEMA_KEYWORDS) {
      const value = source[name]
      if (value === undefined || !keyword.asserts) continue
      node[name] = keyword.holds === undefined ? value : this.#held(source, name, value)
    }
    const references = this.#document.targets(source).map((target) => this.#reference(target))
    // More than one only where $ref and $dynamicRef stand side by side.
    if (references.length === 1 && typeof references[0] !== 'boolean') Object.assign(node, references[0])
    else if (references.length > 0) node.allOf = [...((node.allOf ?? []) as Json[]), ...references]
    return node
  }

  #held(source: JsonObject, name: string, value: Json): Json {
    if (LOOPS.has(name)) {
      // The engine itself says no more than once that there are too many items.
      if (value === false && name !== 'items')
        return this.#unknown(name === 'unevaluatedItems' ? null : source)
      return this.#counted(value as Schema)
    }
    // Alternatives are definitions, so that each can be asked alone, and errors know which one they came from.
    if (name === 'anyOf' || name === 'oneOf') return (value as Schema[]).map((item) => this.#reference(item))
    if (name === 'if' || name === 'contains') return this.#reference(value as Schema)
    const keyword = SCHEMA_KEYWORDS.get(name)
    if (keyword?.holds === 'one') return this.#node(value as Schema)
    if (keyword?.holds === 'list') return (value as Schema[]).map((item) => this.#node(item))
    const entries = Object.entries(value as JsonObject)
    if (name === 'properties') entries.sort(([, a], [, b]) => weight(a) - weight(b))
    return Object.fromEntries(
      entries.map(([key, item]) => [key, this.#entry(source, name, item)]),
    ) as JsonObject
  }

  #entry(source: JsonObject, name: string, item: Json): Json {
    // A list of names, in `dependencies`.
    if (!isSchema(item)) return item
    if (name !== 'patternProperties') return this.#node(item)
    return item === false ? this.#unknown(source) : this.#counted(item)
  }

  #counted(source: Schema): Schema {
    const node = this.#node(source)
    return typeof node === 'boolean' ? node : Object.assign(node, { [STEP]: true })
  }

  /** Null stands for an item. */
  #unknown(source: JsonObject | null): Schema {
    const known = source === null ? null : Object.keys((source.properties ?? {}) as JsonObject)
    const node = { [STEP]: true, [UNKNOWN]: known }
    if (this.#owner !== undefined) this.ownerOf.set(node, this.#owner)
    return node
  }

  #reference(target: Schema): Schema {
    if (typeof target === 'boolean') return target
    let definition = this.definitionOf.get(target)
    if (definition === undefined) {
      definition = String(this.definitionOf.size)
      this.definitionOf.set(target, definition)
      this.#pending.push([definition, target])
    }
    if (this.#owner !== undefined) {
      const leadsTo = this.#leadsTo.get(this.#owner) ?? new Set()
      this.#leadsTo.set(this.#owner, leadsTo.add(definition))
    }
    const node = { $ref: `#/$defs/${definition}`, [STEP]: true }
    if (this.#owner !== undefined) this.ownerOf.set(node, this.#owner)
    return node
  }
}

/**
 * Light fields come first, so that an alternative with another constant in `kind` is left before its inner fields are
 * looked at: in a recursive union that decides between a line of work and a tree of it.
 */
function weight(schema: Json): number {
  if (!isJsonObject(schema)) return 0
  if (schema.const !== undefined || schema.enum !== undefined) return 0
  return Object.keys(schema).some(
    (name) => name.endsWith('Ref') || name === '$ref' || SCHEMA_KEYWORDS.get(name)?.holds,
  )
    ? 2
    : 1
}
