// Writes docs/reference/conformance.md from the data of the suite. `node scripts/conformance-doc.ts`
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Backend } from '../src/conformance/backend/backend.ts'
import { createEndpointBackend } from '../src/conformance/backend/external.ts'
import { BACKEND_NAMES, loadBackend } from '../src/conformance/backend/registry.ts'
import { CASES } from '../src/conformance/cases.ts'
import { EXIT_CRITERIA, GROUPS, REQUIREMENTS, UNCOVERED } from '../src/conformance/requirements.ts'

export const CONFORMANCE_DOC = join(import.meta.dirname, '..', 'docs', 'reference', 'conformance.md')

const INTRO = `<!-- Made by scripts/conformance-doc.ts from src/conformance. Do not edit by hand. -->

# Conformance

What a backend must do before it is used in production: ${REQUIREMENTS.length} requirements in ${GROUPS.length} groups, each
with cases that can fail. A case runs a whole runtime in front of a real tool and looks at what a caller gets, what is
recorded, and what reached the tool.

\`\`\`sh
writ conformance --backend native                                         # or ${BACKEND_NAMES.slice(1).join(', ')}
writ conformance --endpoint http://127.0.0.1:8080/ --type external        # a service of your own
writ conformance --backend http --junit conformance.xml -o json
\`\`\`

The exit code is 0 when no requirement failed, and 1 when one did, or when there was nothing to test.

| status | meaning |
|---|---|
| passed | every check held |
| limited | every check held, and the backend cannot do all of it yet: what it cannot do is refused, never ignored |
| not tested | the tool lacks an operation that a case needs, or offers it in a broken way, or only its owner can see what reaches it; never counted as passed |
| failed | a check did not hold |

A group has the worst status of its requirements: failed, then not tested, then limited.

## The service

A service under test takes \`POST\` with a v1 request and answers with a v1 response. \`tool.operation\` says what to do.
Fields of \`input\` that are not listed are to be ignored, except by \`echo\`.

| operation | input | what it does |
|---|---|---|
| \`echo\` | anything | answers \`ok\` with the input as the output |
| \`sleep\` | \`{"ms": 150}\` | answers \`ok\` after so many milliseconds |
| \`fail\` | \`{"code": "rate_limited", "retryable": true, "message": "..."}\` | answers \`error\` with this code, this \`retryable\` and this message |
| \`count\` | anything | makes one effect under the \`idempotency_key\` of the request and answers \`ok\` with \`{"count": n}\`, the number of effects made under this key. A key that comes again makes no second effect: n stays 1 |

An operation that the service does not have is answered with an error, best with code \`unsupported_tool\`. Each operation is
asked for once before the cases run, to see which are there. A service that has none of them, or cannot be reached, is an
error of its own. What credentials such a service was shown only its owner can see, so C4.1 and C4.4 are not
tested on it. One send may take 2 seconds; \`--timeout\` changes that. \`examples/python-service\` is such a service in 60 lines.

\`\`\`json
{ "tool_contract_version": "v1", "request_id": "req-1", "tool": { "name": "conformance-fail", "operation": "fail" },
  "input": { "code": "rate_limited", "retryable": true }, "idempotency_key": "3pX...", "attempt": 1,
  "runtime": { "mode": "none", "timeout_ms": 2000 } }
\`\`\`

\`\`\`json
{ "tool_contract_version": "v1", "request_id": "req-1", "status": "error",
  "error": { "code": "rate_limited", "reason": "tool_backend_failure", "retryable": true, "message": "asked to fail", "details": {} } }
\`\`\`
`

export async function generateConformanceDoc(): Promise<string> {
  const built = await Promise.all(BACKEND_NAMES.map(loadBackend))
  const columns: readonly (readonly [string, Backend])[] = [
    ...built.map((backend) => [backend.name, backend] as const),
    ['a service at `--endpoint`', createEndpointBackend('')],
  ]
  return `${[
    INTRO.trimEnd(),
    '',
    '## Requirements',
    '',
    ...GROUPS.flatMap(renderGroup),
    ...renderUncovered(),
    '## Known limitations',
    '',
    'A limited requirement is tested as far as it goes: where something is not built, its cases hold that the call is refused',
    'and that nothing is sent.',
    '',
    ...renderLimitations(columns),
    '',
    '## Backends',
    '',
    ...columns.flatMap(([name, backend]) => renderBackend(name, backend)),
    '## When a backend is ready',
    '',
    '| criterion | held by | source |',
    '|---|---|---|',
    ...EXIT_CRITERIA.map(({ id, text, heldBy, source }) => `| ${id} ${text} | ${heldBy} | ${source} |`),
    '',
    OUTRO.trim(),
  ].join('\n')}\n`
}

function renderGroup({ id, title }: (typeof GROUPS)[number]): string[] {
  return [
    `### ${id} ${title}`,
    '',
    '| id | requirement | cases | source |',
    '|---|---|---|---|',
    ...REQUIREMENTS.filter(({ group }) => group === id).map((one) => {
      const cases = CASES.filter(({ requirements }) => requirements.includes(one.id)).map(
        (item) => `\`${item.id}\``,
      )
      return `| ${one.id} | ${one.text} | ${cases.join(', ') || 'none'} | ${one.source} |`
    }),
    '',
  ]
}

function renderUncovered(): string[] {
  const reasons = Object.entries(UNCOVERED)
  if (reasons.length === 0) return ['Every requirement has a case.', '']
  return ['Without a case:', '', ...reasons.map(([id, reason]) => `- ${id}: ${reason}`), '']
}

/** One row for each limitation, with the backends it concerns. */
function renderLimitations(columns: readonly (readonly [string, Backend])[]): string[] {
  const rows = REQUIREMENTS.flatMap(({ id }) => {
    const reasons = new Map<string, string[]>()
    for (const [name, { limitations }] of columns) {
      const reason = limitations[id]
      if (reason !== undefined) reasons.set(reason, [...(reasons.get(reason) ?? []), name])
    }
    return [...reasons].map(([reason, names]) => {
      const where = names.length === columns.length ? 'all' : names.join(', ')
      return `| ${id} | ${where} | ${reason} |`
    })
  })
  return ['| requirement | backends | limitation |', '|---|---|---|', ...rows]
}

function renderBackend(name: string, { isolation, notes }: Backend): string[] {
  return [
    `**${name}.** ${isolation.boundary}`,
    '',
    ...notes.map((note) => `- ${note}`),
    ...(notes.length === 0 ? [] : ['']),
  ]
}

const OUTRO = `
## From a program

\`\`\`ts
import { createSubject, runConformance, toJunit } from 'writ/conformance'

const subject = await createSubject('native')
try {
  const report = await runConformance(subject)
  console.log(report.ready, report.counts, toJunit(report))
} finally {
  await subject.close()
}
\`\`\`

\`Subject\` is an interface: a runtime of your own can be tested by the same cases. A backend of this build is one file in
\`src/conformance/backend\` and one line in its \`registry.ts\`.
`

if (import.meta.main) {
  mkdirSync(dirname(CONFORMANCE_DOC), { recursive: true })
  writeFileSync(CONFORMANCE_DOC, await generateConformanceDoc())
}
