// Wrong in what is permitted, or in the bounds that a tool runs within.
import { TOOLS } from '../../../src/conformance/tools.ts'
import { isJsonObject } from '../../../src/util/json.ts'
import { answers, errorOf, type Mutant, succeeded, toolOf, withError } from './mutant.ts'

export const POLICY_MUTANTS: readonly Mutant[] = [
  {
    what: 'does not know the capabilities of a tool',
    breaks: ['C5.1'],
    mutate: (subject) => ({
      declared: (tool) => ({ riskLevel: 'high', ...subject.declared(tool), capabilities: [] }),
    }),
  },
  {
    what: 'shows a call that waits for approval as an error',
    breaks: ['C5.2'],
    mutate: answers((answer) =>
      errorOf(answer).code === 'approval_pending' ? { ...answer, status: 'error' } : answer,
    ),
  },
  {
    what: 'says in words of its own what is not permitted',
    breaks: ['C5.3'],
    mutate: answers((answer, request) =>
      toolOf(request) === TOOLS.guarded.name && answer.status === 'denied'
        ? withError(answer, { reason: 'lacks a capability' })
        : answer,
    ),
  },
  {
    what: 'lets everybody in',
    breaks: ['C1.4', 'C1.5', 'C3.2', 'C3.3', 'C5.1', 'C5.2', 'C5.3', 'C7.3', 'C7.4'],
    mutate: (subject) => ({ start: (request) => subject.start(request) }),
  },
  {
    what: 'lets a large output through',
    breaks: ['C6.1'],
    mutate: answers((answer) =>
      errorOf(answer).reason === 'tool_output_too_large' ? succeeded(answer) : answer,
    ),
  },
  {
    what: 'runs without the bound on memory',
    breaks: ['C6.1'],
    mutate: answers((answer, request) =>
      toolOf(request) === TOOLS.memory.name ? succeeded(answer) : answer,
    ),
  },
  {
    what: 'takes a request for a weaker isolation',
    breaks: ['C6.2'],
    mutate: answers((answer, request) =>
      isJsonObject(request.runtime) && request.runtime.mode === 'none' ? succeeded(answer) : answer,
    ),
  },
  {
    what: 'runs without the isolation that is declared',
    breaks: ['C6.3'],
    mutate: answers((answer, request) =>
      toolOf(request) === TOOLS['isolated-container'].name ? succeeded(answer) : answer,
    ),
  },
  {
    what: 'gives an isolation that it does not document',
    breaks: ['C6.3'],
    mutate: (subject) => ({ isolation: { ...subject.isolation, provided: ['none', 'wasm'] } }),
  },
]
