// Writes docs/reference/agent-role.md, tool-permission.md, agent-policy.md, secret.md and mcp-server.md from their field tables.
// `node scripts/governance-doc.ts`
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { AGENT_POLICY } from '../src/resource/agent-policy.ts'
import { AGENT_ROLE } from '../src/resource/agent-role.ts'
import type { FieldRow } from '../src/resource/field-row.ts'
import { MCP_SERVER } from '../src/resource/mcp-server.ts'
import { SECRET } from '../src/resource/secret.ts'
import { TOOL_PERMISSION } from '../src/resource/tool-permission.ts'
import { renderFieldTable } from './field-table-doc.ts'

const ROOT = join(import.meta.dirname, '..')

interface Page {
  readonly kind:
    | typeof AGENT_ROLE
    | typeof TOOL_PERMISSION
    | typeof AGENT_POLICY
    | typeof SECRET
    | typeof MCP_SERVER
  readonly intro: string
  /** Under examples/. */
  readonly example: string
  readonly notes: string
}

const PAGES: readonly Page[] = [
  {
    kind: AGENT_ROLE,
    intro: `An AgentRole is a set of permissions under a name. A caller holds what it was given itself and what its roles grant *now*:
a role that is changed or deleted changes what everybody who has it may do, also about calls that are waiting.`,
    example: 'governance/agent-role.yaml',
    notes: `## Permissions

| permission | lets a caller |
|---|---|
| \`tool:NAME:invoke\` | know that the tool exists, and call it |
| \`capability:NAME\` | call tools that declare this capability; a caller needs every one that a tool declares |
| \`class:NAME\` | call tools of this \`permission_class\` |
| \`resource:read\`, \`resource:write\` | see resources; change tools |
| \`governance:write\` | change roles, permissions and policies |
| \`secret:write\` | write and delete secrets; nobody reads one back |
| \`mcp:write\` | declare MCP servers, which may start programs; accept what they make of their tools |
| \`call:read\`, \`call:settle\` | see all calls of the namespace; settle an unknown effect by hand |
| \`approval:read\`, \`approval:decide\`, \`approval:override\` | see approvals; decide them where no role is named; let a caller ask again after a denial |
| \`grant:write\`, \`freeze:write\`, \`token:write\`, \`audit:read\` | give approval grants, freeze, issue and revoke tokens, read evidence |

A \`*\` at the end of NAME stands for any rest. **Wildcards never cover** tools that are irreversible, financial-high-impact or
administrative: these are granted by name. A permission of another form is allowed, since a ToolPermission may require it.

## Refused

- a role that inherits one which does not exist, or itself through others: apply them together, or take one out
- deleting a role that something still names; the refusal says what
- a caller that names a role which does not exist is denied every call (\`role-missing\`)
`,
  },
  {
    kind: TOOL_PERMISSION,
    intro: `A ToolPermission says what one tool demands beside its own manifest: permissions that a caller must hold, and what becomes
of calls by the class of the operation.`,
    example: 'governance/tool-permission.yaml',
    notes: `## How rules combine

Every rule that matches a class of the operation counts, \`*\` too, and the strictest of them wins: \`deny\` over
\`approval_required\` over \`allow\`. Their order never matters, and a rule for one class does not take the place of \`*\`.
So \`{operation_class: '*', verdict: deny}\` beside \`{operation_class: read, verdict: allow}\` denies reads; apply warns of
rules that have no effect for this reason.

\`allow\` allows nothing by itself: a caller needs its permissions all the same.
`,
  },
  {
    kind: AGENT_POLICY,
    intro: `An AgentPolicy governs the calls that it is about: by rules of literal clauses, by [Cedar](https://www.cedarpolicy.com)
policies, by transforms that make inputs narrower, and by budgets.`,
    example: 'governance/agent-policy.yaml',
    notes: `## How policies combine

All that match are looked at, over all policies, permissions and the tool itself; the strictest answer wins:
\`deny\`, then \`escalate\`, \`require-approval\`, a transform, \`allow\`. Order never matters. A policy with \`mode: monitor\` only
says what it would have done.

A policy is \`scoped\` unless it says otherwise, and a scoped policy without targets matches nothing; apply warns of it.

## Budgets

Periods are fixed windows, counted from 1970-01-01 UTC. What a call takes is reserved in the same transaction as its
intent, so replicas together never spend more than \`max\`; it is given back when the effect is known not to have happened, and
kept while that is unknown. A read that was sent has spent it, however it ends.

## Not enforced

\`max_tokens_per_run\`, \`allowed_models\`, \`max_child_depth\` and \`max_child_tasks\` are about running agents. They are read and
shown, apply warns of them, and profile \`production\` refuses them.
`,
  },
  {
    kind: SECRET,
    intro: `A Secret holds values that tools are given and that nobody reads back. What the store keeps is sealed with AES-256-GCM under
a data key of the secret, which the master key of the server wraps. How tools name one, the master key, and secrets that live
elsewhere: [the guide on secrets](../guide/secrets.md).`,
    example: 'secrets/secret.yaml',
    notes: `## Values

- Every read, difference and dry run shows \`***\` for each key. Applied, \`***\` stands for the value that is kept, so that
  \`writ get secrets NAME -o yaml\`, an edit, and \`writ apply\` go together. Where none is kept, it is an error.
- A key that the manifest no longer has is taken out.
- A value is text in UTF-8 of 8 bytes to 64 KiB, all of them together at most 1 MiB. White space around it is dropped. A shorter
  one is refused (S50): it could not be told from other text in what a tool answers, and so not be kept out of it.
- A value that stays the same changes nothing: no row, no version, no evidence.

\`writ secret set NAME\` reads a value from standard input, a file or a variable; no command takes one as an argument. Changing
secrets needs \`secret:write\`, seeing their names and keys \`resource:read\`.
`,
  },
  {
    kind: MCP_SERVER,
    intro: `An McpServer is a program or a service that speaks the Model Context Protocol. Its tools are made into Tools, named
\`SERVER--TOOL\` with \`_\` and \`.\` as \`-\`, and governed like any other. How to declare one, label its tools and accept what it
changes: [the guide on MCP](../guide/mcp.md).`,
    example: 'mcp-tool/mcp-server.yaml',
    notes: `## What is made of it

- Every word of a definition is the server's. Descriptions, those inside schemas as well, are cut at 4096 bytes and titles at 256, and
  lose control characters, terminal escapes and marks that nobody sees; annotations are shown, and decide nothing. Names and values
  that inputs are held to (\`enum\`, \`const\`, \`default\`) stay as they are.
- A tool that has no \`effect\` or \`operation_classes\` under \`spec.tools\` is a write, and each call of it waits for approval (S46).
- A tool whose schema cannot be used, whose name is no name here, or whose name another tool has is not taken;
  \`status.refusedTools\` says why. Of two tools that would get one name neither is.
- The digest of name, title, description, schemas and annotations is kept, and of what was taken out of them (\`said\`). When it changes, the tool is quarantined: calls are
  refused, approvals and grants of it are void, until \`writ tool accept\`. Going back does not end it.
- A tool that is no longer offered is refused. It stays listed until the server is deleted, which deletes its tools.
- A server that cannot be reached is in phase \`Error\`; its tools stay, and calls fail by themselves.

Any replica may list the tools, and all of them keep one set. Where their programs are of different versions, a tool that one of
them finds changed is quarantined for all. One that only some of them offer stays callable; where it is not offered, the server
itself refuses the call. None of them undoes what another one has written.

Changing an McpServer needs \`mcp:write\`: it may start programs. In profile \`production\` a
program runs only if \`cli_allow\` names it.
`,
  },
]

export interface GovernancePage {
  readonly file: string
  readonly rows: readonly FieldRow[]
  readonly text: string
}

export function governancePages(): readonly GovernancePage[] {
  return PAGES.map(({ kind, intro, example, notes }) => {
    const { rows } = kind.fields
    const [document, spec] = [false, true].map((own) =>
      rows.filter((row) => row.path.startsWith('spec') === own),
    )
    const path = join('examples', example)
    const text = `<!-- Made by scripts/governance-doc.ts from src/resource/${kind.singular}.ts. Do not edit by hand. -->

# ${kind.name}

${intro}

\`\`\`yaml
${readFileSync(join(ROOT, path), 'utf8').trim()}
\`\`\`

The example is in [${path}](../../${path}). \`writ validate -f FILE\` says all that is wrong with file, line, column and a fix;
an unknown field is an error. A set of documents is applied whole or not at all.

${notes}
## Fields

${renderFieldTable(spec ?? [])}

## Document

${renderFieldTable(document ?? [])}
`
    return { file: join(ROOT, 'docs', 'reference', `${kind.singular}.md`), rows, text }
  })
}

if (import.meta.main) for (const { file, text } of governancePages()) writeFileSync(file, text)
