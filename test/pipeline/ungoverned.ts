// Where no policy is declared: a caller may do what it holds by itself, and nothing is stopped.
import type { Authority } from '../../src/governance/authority.ts'
import { createRules } from '../../src/governance/create-rules.ts'

export function ungoverned(): Authority {
  const rules = createRules({ roles: [], permissions: [], policies: [] }, { profile: 'local' })
  return { profile: 'local', rules: () => rules, stopped: () => undefined, frozen: () => undefined }
}
