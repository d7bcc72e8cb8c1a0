// The JSON Schema of manifests for editors: draft-07, which every language server of YAML reads. It accepts whatever
// `writ validate` can accept, and says at each place what may be written.
import type { JsonObject } from '../util/json.ts'
import { API_VERSIONS } from './document.ts'
import { editorKind } from './editor-kind.ts'
import { anyCase, type Draft } from './editor-notation.ts'
import { type AnyKind, KINDS } from './kinds.ts'

export function editorSchema(kinds: readonly AnyKind[] = KINDS): JsonObject {
  const names = kinds.map((kind) => kind.name)
  const drafts = kinds.map((kind) => ({ kind, draft: editorKind(kind) }))
  const tool = drafts.find(({ kind }) => kind.name === 'Tool')?.draft
  const document: Draft = {
    required: ['apiVersion', 'kind'],
    allOf: drafts.map(({ kind, draft }) => ({
      if: { required: ['kind'], properties: { kind: anyCase([kind.name]) } },
      // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema
      then: draft,
    })),
  }
  const root: Draft = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: `Writ: ${names.length === 1 ? names[0] : 'manifests'}`,
    type: 'object',
    properties: {
      apiVersion: { enum: [...API_VERSIONS] },
      kind: { description: 'What is declared.', anyOf: [{ enum: names }, anyCase(names)] },
      metadata: { type: 'object', description: 'Who it is.' },
      spec: { type: 'object', description: 'What it is.' },
    },
    ...(tool === undefined ? document : orFlat(document, tool)),
  }
  return shareParts(root)
}

/** A flat contract: tool_id or toolId, no kind, and the fields of a tool's spec in one map. */
function orFlat(document: Draft, tool: Draft): Draft {
  const { description: _description, ...spec } = tool.properties?.spec ?? {}
  const marks = (names: readonly string[]) => names.map((name) => ({ required: [name] }))
  return {
    // Language servers take every `required` for met while they complete: what they offer is then a document.
    if: { anyOf: [...marks(['kind', 'spec']), { not: { anyOf: marks(['tool_id', 'toolId']) } }] },
    // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema
    then: document,
    else: { ...spec, properties: { apiVersion: { enum: [...API_VERSIONS] }, ...spec.properties } },
  }
}

/** Smaller parts are written wherever they are needed: a reference would be no shorter. */
const WORTH_SHARING = 400

/** Plain JSON, in which a part that stands at several places is written once, under `definitions`. */
function shareParts(root: Draft): JsonObject {
  const times = new Map<object, number>()
  const count = (part: unknown): void => {
    if (typeof part !== 'object' || part === null) return
    const seen = times.get(part) ?? 0
    times.set(part, seen + 1)
    if (seen === 0) for (const inner of Object.values(part)) count(inner)
  }
  count(root)

  const names = new Map<object, string>()
  const definitions: Record<string, unknown> = {}
  const write = (part: unknown, name: string): unknown => {
    if (typeof part !== 'object' || part === null) return part
    if (Array.isArray(part)) return part.map((inner) => write(inner, name))
    const shared = (times.get(part) ?? 0) > 1 && JSON.stringify(part).length > WORTH_SHARING
    if (!shared) return writeParts(part, name)
    const known = names.get(part) ?? freeName(name, definitions)
    if (!names.has(part)) {
      names.set(part, known)
      definitions[known] = {}
      definitions[known] = writeParts(part, name)
    }
    return { $ref: `#/definitions/${known}` }
  }
  const writeParts = (part: object, name: string): object =>
    Object.fromEntries(
      Object.entries(part).flatMap(([key, inner]) => {
        if (inner === undefined || (key === 'required' && Array.isArray(inner) && inner.length === 0))
          return []
        if (key !== 'properties') return [[key, write(inner, name)]]
        const fields = Object.entries(inner as object)
        return [[key, Object.fromEntries(fields.map(([field, draft]) => [field, write(draft, field)]))]]
      }),
    )
  const written = writeParts(root, 'document')
  return { ...written, definitions } as JsonObject
}

function freeName(name: string, taken: Readonly<Record<string, unknown>>): string {
  let free = name
  for (let number = 2; Object.hasOwn(taken, free); number++) free = `${name}-${number}`
  return free
}
