// Stage 4: the constraints against the tool's limits, the input against its schema. Lists every violation.
import type { Constraints } from '../contract/call.ts'
import { serialize } from '../ledger/fingerprint.ts'
import { allowsUrl } from '../resource/net-allowlist.ts'
import { ISOLATION_MODES, type ResolvedOperation } from '../resource/resolved-tool.ts'
import type { Json, JsonObject, Violation } from '../util/json.ts'
import { parseStrictJson } from '../util/strict-json.ts'
import type { Kit } from './kit.ts'
import { refuse } from './result.ts'
import { advance, type Bounds, type Permitted, type StageResult, type Valid } from './stages.ts'

export function validate(state: Permitted, kit: Kit): StageResult<Valid> {
  const { call, operation, target } = state
  if (call.deadlineUnixMs !== undefined && call.deadlineUnixMs <= kit.world.clock.now()) {
    return refuse(state, 'deadline-past', { details: { deadline_unix_ms: call.deadlineUnixMs } })
  }
  if (operation.effect.keyRequired && call.key === undefined) return refuse(state, 'key-missing')
  const claim = refusedClaim(state)
  if (claim !== undefined) return claim
  const egress = refusedByAllowlist(state)
  if (egress !== undefined) return egress
  if (call.constraints.memoryMb !== undefined) {
    state.warnings.push('memory_mb_limit does not apply: this tool does not run in a process of its own')
  }

  const read = readInput(state)
  if (read.kind !== 'read') return read.refusal
  const { input } = read
  const size = Buffer.byteLength(serialize(input))
  if (size > target.tool.limits.inputBytes) {
    return refuse(state, 'input-too-large', {
      details: { bytes: size, limit_bytes: target.tool.limits.inputBytes },
    })
  }
  const schema = target.inputs[operation.name]
  const violations = schema ? schema.check(input ?? null) : []
  if (violations.length > 0) return refuse(state, 'input-invalid', violated(violations))
  return advance(state, { input, bounds: narrow(call.constraints, operation) })
}

/** What a request says about tool and credentials is compared, never believed (S2). */
function refusedClaim(state: Permitted): StageResult<never> | undefined {
  const { claims } = state.call
  const { tool } = state.target
  if (claims.capabilities?.some((one) => !tool.capabilities.includes(one))) {
    state.warnings.push(
      'tool.capabilities of the request differ from what the tool declares; the declaration counts',
    )
  }
  if (claims.riskLevel !== undefined && claims.riskLevel !== tool.riskLevel) {
    state.warnings.push(
      `tool.risk_level of the request is '${claims.riskLevel}'; the tool declares '${tool.riskLevel}'`,
    )
  }
  if (claims.isolation !== undefined && claims.isolation !== tool.isolation) {
    const modes: readonly string[] = ISOLATION_MODES
    if (modes.indexOf(claims.isolation) <= modes.indexOf(tool.isolation)) {
      return refuse(
        state,
        'constraint-outside-limits',
        violated([
          {
            path: '/runtime/mode',
            message: `'${claims.isolation}' is weaker than the declared '${tool.isolation}'`,
          },
        ]),
      )
    }
    return refuse(state, 'isolation-unavailable', {
      message: `the request asks for isolation '${claims.isolation}'; the tool runs with '${tool.isolation}'`,
    })
  }
  const otherProfile = claims.authProfile !== undefined && claims.authProfile !== tool.auth?.profile
  const otherSecret = claims.secretRef !== undefined && claims.secretRef !== tool.auth?.secretRef
  return otherProfile || otherSecret ? refuse(state, 'secret-out-of-scope') : undefined
}

/** The request's allowlist narrows where the tool may be reached, to nothing if need be (S2). */
function refusedByAllowlist(state: Permitted): StageResult<never> | undefined {
  const { netAllowlist } = state.call.constraints
  const { endpoint } = state.target.tool
  if (netAllowlist === undefined || endpoint === undefined) return undefined
  const url = URL.parse(endpoint)
  if (url !== null && allowsUrl(netAllowlist, url)) return undefined
  return refuse(state, 'egress-denied', {
    message: "the endpoint of the tool is outside the request's net_allowlist",
    details: { path: '/constraints/net_allowlist' },
  })
}

type ReadInput =
  | { readonly kind: 'read'; readonly input: Json | undefined }
  | { readonly kind: 'refused'; readonly refusal: StageResult<never> }

/** S13: what runs is the stored payload. S3: `input_raw` is JSON where the tool has a schema, else text. */
function readInput(state: Permitted): ReadInput {
  const { call, continued, operation, target } = state
  const kept = continued?.payload
  if (kept !== undefined && 'inline' in kept) return { kind: 'read', input: kept.inline }
  if (call.inputRaw === undefined) return { kind: 'read', input: call.input }
  if (target.inputs[operation.name] === undefined) return { kind: 'read', input: call.inputRaw }
  const parsed = parseStrictJson(call.inputRaw)
  if (parsed.ok) return { kind: 'read', input: parsed.value }
  const violations = parsed.violations.map(({ path, message }) => ({ path: `/input_raw${path}`, message }))
  return { kind: 'refused', refusal: refuse(state, 'input-invalid', violated(violations)) }
}

/** Each is the smaller of what was asked and what is declared (S2). */
function narrow(asked: Constraints, operation: ResolvedOperation): Bounds {
  const { retry, timeoutMs } = operation
  return {
    timeoutMs: Math.min(asked.timeoutMs ?? timeoutMs, timeoutMs),
    maxAttempts: Math.min(asked.maxAttempts ?? retry.maxAttempts, retry.maxAttempts),
    backoffMs: Math.max(asked.backoffMs ?? retry.backoffMs, retry.backoffMs),
    maxBackoffMs: Math.min(asked.maxBackoffMs ?? retry.maxBackoffMs, retry.maxBackoffMs),
    jitter: asked.jitter ?? retry.jitter,
  }
}

function violated(violations: readonly Violation[]): { message: string; details: JsonObject } {
  const first = violations[0]
  const more = violations.length > 1 ? ` (and ${violations.length - 1} more)` : ''
  return {
    message: first ? `${first.path || '/'}: ${first.message}${more}` : 'invalid',
    details: { violations: violations.map(({ path, message }) => ({ path, message })) },
  }
}
