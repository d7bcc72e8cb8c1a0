// Writes docs/reference/reason-codes.md from the table of reason codes. `node scripts/reason-codes-doc.ts`
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { REASON_CODES } from '../src/governance/reason-code.ts'

export const REASON_CODES_DOC = join(import.meta.dirname, '..', 'docs', 'reference', 'reason-codes.md')

export function generateReasonCodesDoc(): string {
  return `${[
    '# Reason codes',
    '',
    'Why governance answered as it did. A refusal has the code in `error.details.code`, beside `details.policy_ref`',
    '(the policy, its version, the decision and the rule); a decision record in evidence lists all of them as `reason_codes`.',
    'A code that begins with `monitored:` there is of a policy in monitor mode, which only says what it would have done.',
    '',
    'This page is written from `src/governance/reason-code.ts` by `node scripts/reason-codes-doc.ts`. Codes are never reused.',
    '',
    '| code | meaning |',
    '|---|---|',
    ...Object.entries(REASON_CODES).map(([code, sentence]) => `| \`${code}\` | ${sentence} |`),
    '',
    '## How a decision is made',
    '',
    'Everything that matches counts, and the strictest wins: deny, escalate, require-approval, transform, allow. No order of',
    'rules changes that. What is asked, in words:',
    '',
    '- The caller needs `tool:NAME:invoke`, `capability:C` for each capability of the tool and `class:P` for its permission',
    '  class: its own permissions and those of its roles as they are now, each only where a scope of its token covers it.',
    '  Wildcards do not cover irreversible, financial-high-impact and administrative tools. Who lacks one of them is told that',
    '  and nothing else.',
    '- ToolPermissions of the tool: `required_permissions`, and every operation rule of a class of the operation.',
    '- AgentPolicies that are about the caller: `blocked_tools`, `rules`, `cedar`, `transforms`, `budgets`.',
    '- `approval_triggers` of the tool.',
    '- In profile production: an approval rule that concerns this caller, or a waiver, where the effect cannot be undone, is',
    '  financial or administrative.',
    '',
    'A condition that cannot be judged (nothing is there, another type) counts as true in what restricts, and as false in what',
    'permits: an `allow` rule, a grant. Where a transform narrows the input, rules are asked about the input as it was asked',
    'for and as it would be sent. Budgets take what is sent.',
    '',
    'An approval is stale when anything changes that could have matched for its caller, tool and operation. Policies about other',
    'tools, other callers, or in monitor mode have no part in that.',
  ].join('\n')}\n`
}

function main(): void {
  mkdirSync(dirname(REASON_CODES_DOC), { recursive: true })
  writeFileSync(REASON_CODES_DOC, generateReasonCodesDoc())
}

if (import.meta.main) main()
