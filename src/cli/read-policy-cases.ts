// Reads a file of policy cases: which caller asks for what, and what is to be decided. Every mistake with its line.
import Type from 'typebox'
import { ACTOR_KINDS } from '../contract/caller.ts'
import { DECISIONS } from '../contract/decision.ts'
import { createShapeCheck } from '../resource/check-shape.ts'
import {
  createFindings,
  inReadingOrder,
  type Path,
  type Position,
  type Problem,
  toProblem,
} from '../resource/problem.ts'
import { locate, toJson } from '../resource/source-tree.ts'
import { readYaml } from '../resource/yaml-source.ts'
import type { Json } from '../util/json.ts'

const closed = { additionalProperties: false }
const TEXT = Type.String({ minLength: 1, maxLength: 256 })
const LIST = Type.Array(TEXT)

const CaseSchema = Type.Object(
  {
    name: TEXT,
    caller: Type.Object(
      {
        actor: TEXT,
        kind: Type.Optional(Type.Enum(ACTOR_KINDS)),
        namespace: Type.Optional(TEXT),
        roles: Type.Optional(LIST),
        permissions: Type.Optional(LIST),
        scopes: Type.Optional(LIST),
        agents: Type.Optional(LIST),
        system: Type.Optional(TEXT),
      },
      closed,
    ),
    call: Type.Object(
      {
        tool: TEXT,
        operation: Type.Optional(TEXT),
        version: Type.Optional(TEXT),
        input: Type.Optional(Type.Unsafe<Json>({})),
        agent: Type.Optional(TEXT),
        task_id: Type.Optional(TEXT),
      },
      closed,
    ),
    at: Type.Optional(Type.String({ description: 'The time of the call, as ISO 8601.' })),
    expect: Type.Enum([...DECISIONS, 'error']),
    code: Type.Optional(TEXT),
    sends: Type.Optional(Type.Unsafe<Json>({})),
  },
  closed,
)

const FileSchema = Type.Object(
  {
    name: Type.Optional(TEXT),
    manifests: Type.Array(TEXT, { minItems: 1 }),
    cases: Type.Array(CaseSchema, { minItems: 1 }),
  },
  closed,
)

export type PolicyCase = Type.Static<typeof CaseSchema>
export type PolicyCases = Type.Static<typeof FileSchema>

export interface ReadCases {
  /** Undefined where anything is wrong. */
  readonly cases?: PolicyCases
  /** The line of each case. */
  readonly lines: readonly number[]
  readonly problems: readonly Problem[]
  /** Where something of the file is. */
  readonly at?: (path: Path) => Position
}

/** Never throws. */
export function readPolicyCases(text: string | Uint8Array, file: string): ReadCases {
  const { documents, problems: broken } = readYaml(text)
  const problems = broken.map(({ at, ...one }) => toProblem({ ...one, severity: 'error' }, file, at))
  const [root, second] = documents
  if (root === undefined) return { lines: [], problems }
  const findings = createFindings()
  if (second !== undefined) findings.error([], 'holds more than one document', 'make a file of each')
  const value = toJson(root)
  const shape = createShapeCheck(FileSchema, () => [])(value)
  for (const { path, message, fix } of shape) findings.error(path, message, fix)
  if (shape.length === 0) {
    for (const [at, one] of (value as unknown as PolicyCases).cases.entries()) {
      if (one.at !== undefined && Number.isNaN(timeOf(one.at)))
        findings.error(['cases', at, 'at'], 'is no time', 'write it like 2026-01-31T12:00:00Z')
    }
  }
  for (const one of findings.all) problems.push(toProblem(one, file, locate(root, one.path)))
  if (problems.length > 0) return { lines: [], problems: inReadingOrder(problems) }
  const cases = value as unknown as PolicyCases
  const at = (path: Path) => locate(root, path)
  return { cases, lines: cases.cases.map((_, index) => at(['cases', index]).line), problems, at }
}

/** A time without a zone would be another one on another machine. */
export function timeOf(text: string): number {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/.test(text)
    ? Date.parse(text)
    : Number.NaN
}
