// Writes docs/reference/tool.md from the field table. `node scripts/tool-doc.ts`
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { FIELDS, type FieldRow } from '../src/resource/field-table.ts'

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
      'spec.approval_triggers',
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

## Refused at apply

- \`reversible-write\` without \`compensation\`; \`read-only\` with \`side_effectful\`; any two declarations that contradict each other
- \`code-execution\` with isolation \`none\`, outside profile \`local\`
- \`auth\` on type \`cli\`; a user name or password in an address; a secret of another namespace
- a schema that refers outside of itself, or whose pattern the linear engine cannot run
- an allowed-origins list that does not cover the endpoint
- another effect, identity or endpoint origin under the same version: raise the version
- in profile \`production\`: \`irreversible\` or \`financial-high-impact\` without \`identity\`, loopback endpoints, plaintext gRPC, programs on the host
`

export function renderToolDoc(): string {
  const blocks = ORDER.map((title) => {
    const section = SECTIONS.find((one) => one.title === title)
    const rows = FIELDS.filter((row) => sectionOf(row) === section)
    return [
      `## ${title}`,
      ...(section?.intro === undefined ? [] : ['', section.intro]),
      '',
      '| field | type | default | also read as | source | enforced | meaning |',
      '|---|---|---|---|---|---|---|',
      ...rows.map(renderRow),
      '',
    ].join('\n')
  })
  return `${INTRO}\n${blocks.join('\n')}`
}

function sectionOf(row: FieldRow): Section | undefined {
  return SECTIONS.find((section) => section.prefixes.some((prefix) => row.path.startsWith(prefix)))
}

function renderRow(row: FieldRow): string {
  const aliases = row.aliases.map(({ path, as, when }) => {
    const how = [as === undefined ? [] : `in ${as}`, when === undefined ? [] : `when ${when}`]
      .flat()
      .join(', ')
    return `\`${path}\`${NOTED.has(as ?? '') || when !== undefined ? ` (${how})` : ''}`
  })
  // Prose stays prose.
  const fallback = row.default === '' || row.default.includes(' ') ? row.default : `\`${row.default}\``
  const cells = [
    `\`${row.path}\``,
    row.type,
    fallback,
    aliases.join(', '),
    row.source.join(' '),
    row.enforced,
    row.description,
  ]
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
}

/** Rules that say a unit; the others only normalise. */
const NOTED: ReadonlySet<string> = new Set(['seconds', 'milliseconds', 'megabytes'])

if (import.meta.main) {
  mkdirSync(dirname(TOOL_DOC), { recursive: true })
  writeFileSync(TOOL_DOC, renderToolDoc())
}
