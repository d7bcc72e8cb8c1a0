// Writes docs/reference/tool.md from the field table. `node scripts/tool-doc.ts`
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { FieldRow } from '../src/resource/field-row.ts'
import { FIELDS } from '../src/resource/field-table.ts'
import { renderFieldTable } from './field-table-doc.ts'

export const TOOL_DOC = join(import.meta.dirname, '..', 'docs', 'reference', 'tool.md')

interface Section {
  readonly title: string
  readonly prefixes: readonly string[]
  readonly intro?: string
}

/** Every row belongs to the first section that has a prefix of its path; the last takes the rest. */
const SECTIONS: readonly Section[] = [
  { title: 'Document', prefixes: ['apiVersion', 'kind', 'metadata', 'status'] },
  {
    title: 'Effect',
    prefixes: ['spec.effect'],
    intro:
      'What a second send would do. Everything else about retries, unknown outcomes and approval follows from it.',
  },
  { title: 'Operations', prefixes: ['spec.operations'] },
  {
    title: 'Access',
    prefixes: [
      'spec.capabilities',
      'spec.operation_classes',
      'spec.risk_level',
      'spec.auth',
      'spec.permission_class',
      'spec.approval',
      'spec.data_classification',
      'spec.egress',
      'spec.grants',
    ],
  },
  { title: 'Running', prefixes: ['spec.runtime', 'spec.limits'] },
  {
    title: 'Types',
    prefixes: ['spec.cli', 'spec.wasm', 'spec.mcp', 'spec.webhook', 'spec.grpc', 'spec.http'],
  },
  {
    title: 'Owner and life',
    prefixes: [
      'spec.errors',
      'spec.audit',
      'spec.observability',
      'spec.deprecation',
      'spec.slo',
      'spec.health',
    ],
  },
  { title: 'What it is', prefixes: ['spec'] },
]
const ORDER = [
  'Document',
  'What it is',
  'Effect',
  'Operations',
  'Access',
  'Running',
  'Types',
  'Owner and life',
]

const INTRO = `<!-- Made by scripts/tool-doc.ts from src/resource/field-table.ts. Do not edit by hand. -->

# Tool

A Tool is a declared capability: what it is called, what it takes and gives, what it does to the world, who may call it,
within which limits, and how it is reached. Manifests are YAML 1.2 or JSON, one document or many in a file.

\`\`\`yaml
apiVersion: writ.dev/v1
kind: Tool
metadata:
  name: weather
spec:
  type: http
  endpoint: https://weather.example.com/today
  effect: {class: read-only}
  input_schema:
    type: object
    properties: {city: {type: string}}
    required: [city]
\`\`\`

\`writ validate -f FILE\` says all that is wrong with file, line, column and a fix. An unknown field is an error.
[An editor](../guide/getting-started.md#in-your-editor) checks and completes manifests with a JSON Schema.
Complete examples: [a read-only tool](../../examples/tool-contract-read-only.yaml),
[a reversible write](../../examples/tool-contract-reversible-write.yaml).

## Notations

- **Durations** are numbers with units: \`500ms\`, \`30s\`, \`1h30m\`.
- **Sizes** are \`64Ki\`, \`512Mi\` (also \`512m\`, \`512MB\`), \`1Gi\`, all in powers of 1024.
- **Rates** are \`10/s\`, \`100/m\`, \`5/30s\` or \`{max: 10, per: 1s}\`.
- **Input fields** are JSON pointers (\`/order/amount\`) or names with dots (\`order.amount\`). One that \`input_schema\` rules out is an error.
- **Times** are UTC: \`2026-07-01\` or \`2026-07-01T12:00:00Z\`.

## Other contracts

A document with \`tool_id\` or \`toolId\` and without \`kind\` is a flat contract: its fields are read as those of \`spec\`, in the
spellings of the column *also read as*. Saying a field in two spellings is an error. Schemas that are named as files
are read by commands that have the files; a server refuses calls to a tool whose schema it was not given.

## Sources

*source* names where a field comes from: 000 Tool Contract v1, 001 the tool-contract fields, 002 the Tool resource,
003 runtime conformance, 004 the four-outcome contract; S and a number is a rule of Writ's own semantics.

## What is enforced

The column *enforced* is about this version. **A declared control that cannot be enforced refuses every call to the tool**;
apply accepts it with a warning. Fields that only describe are kept and shown.

## Named operations

\`status_query\`, \`two_phase\` and \`compensation\` name what else the tool can be asked for. For types that are told the
name of an operation, that is one of \`operations\`; it is sent \`{idempotency_key, commit_token, input}\` of the call it is
about. For type http it is an address: \`{key}\` and \`{token}\` are filled in, percent-encoded; POST, PUT and PATCH carry the
same three as JSON, GET and DELETE carry no body. Such an address must be covered by the allowed origins as the endpoint is,
it cannot be called by anybody, and it is not listed.

\`\`\`yaml
effect:
  class: external-communication
  status_query:
    url: https://booking.example.com/by-key/{key}
    state: /booking/state          # where the answer says it; these values mean:
    done: [confirmed]
    not_done: [unknown, expired]
  two_phase:
    commit: {url: 'https://booking.example.com/prepared/{token}/confirm'}
    rollback: {method: DELETE, url: 'https://booking.example.com/prepared/{token}'}
    deadline: 15m
\`\`\`

A **status query** is asked when nobody knows whether the effect happened. Any state that is not listed, any error and any
answer that cannot be read is no answer: the effect stays unknown.

A **two-phase** call prepares: its answer has the state \`prepared\`, a preview as output, and a \`commit_token\`. The tool
says its own token as \`commit_token\` of its envelope, or of its JSON body; that one never leaves the runtime. The effect
happens when the caller commits, once and before the deadline; a commit whose answer is lost is never sent again blindly.
Four-outcome callers may also commit with a call of \`fn: commit\` and the input \`{commit_token}\`.
What is given up, or not committed in time, is rolled back: the rollback is sent until the tool answers 2xx, 404, 410 or a
status listed in its \`done\`.

## Refused at apply

- \`reversible-write\` without \`compensation\`; \`read-only\` with \`side_effectful\`; any two declarations that contradict each other
- \`code-execution\` with isolation \`none\`, outside profile \`local\`
- \`auth\` on type \`cli\`; a user name or password in an address; a reference that names no secret
- a schema that refers outside of itself, or whose pattern the linear engine cannot run
- an allowed-origins list that does not cover the endpoint, or the address of a named operation
- another effect, identity or endpoint origin under the same version, also of a named operation: raise the version
- in profile \`production\`: \`irreversible\`, \`financial-high-impact\` or \`administrative\` without any approval rule that concerns it
  (its own \`approval_triggers\`, a ToolPermission or an AgentPolicy) and without \`approval_waiver\`; \`irreversible\` or \`financial-high-impact\` without \`identity\`, loopback endpoints, plaintext gRPC, programs on the host
`

export function renderToolDoc(): string {
  const blocks = ORDER.map((title) => {
    const section = SECTIONS.find((one) => one.title === title)
    const rows = FIELDS.filter((row) => sectionOf(row) === section)
    return [
      `## ${title}`,
      ...(section?.intro === undefined ? [] : ['', section.intro]),
      '',
      renderFieldTable(rows),
      '',
    ].join('\n')
  })
  return `${INTRO}\n${blocks.join('\n')}`
}

function sectionOf(row: FieldRow): Section | undefined {
  return SECTIONS.find((section) => section.prefixes.some((prefix) => row.path.startsWith(prefix)))
}

if (import.meta.main) {
  mkdirSync(dirname(TOOL_DOC), { recursive: true })
  writeFileSync(TOOL_DOC, renderToolDoc())
}
