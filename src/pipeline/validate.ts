// Stage 4: the constraints against the tool's limits, the input against its schema. Lists every violation.
import type { Constraints } from '../contract/call.ts'
import { serialize } from '../ledger/fingerprint.ts'
import { endpointUrl } from '../resource/egress-rule.ts'
import { unfitForHttp } from '../resource/http-carriage.ts'
import { allowsUrl } from '../resource/net-allowlist.ts'
import { ISOLATION_MODES, type ResolvedOperation, type ResolvedTool } from '../resource/resolved-tool.ts'
import { outsideScopes } from '../transport/credential-need.ts'
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
  const egress = refusedByAllowlist(state) ?? refusedByScopes(state)
  if (egress !== undefined) return egress
  if (call.constraints.memoryMb !== undefined) {
    state.warnings.push(
      'memory_mb_limit is told to tools of the four-outcome contract; it is not enforced here',
    )
  }

  const read = readInput(state)
  if (read.kind !== 'read') return read.refusal
  const { input } = read
  const payloadText = serialize(input)
  const size = Buffer.byteLength(payloadText)
  if (size > target.tool.limits.inputBytes) {
    return refuse(state, 'input-too-large', {
      details: { bytes: size, limit_bytes: target.tool.limits.inputBytes },
    })
  }
  const schema = target.inputs.get(operation.name)
  const violations = schema ? schema.check(input ?? null) : []
  if (violations.length > 0) return refuse(state, 'input-invalid', violated(violations))
  const unfit = unfitForHttp(target.tool, operation, input)
  if (unfit.length > 0) return refuse(state, 'input-invalid', violated(unfit))
  return advance(state, { input, payloadText, bounds: narrow(call.constraints, operation) })
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
      fix: 'Leave runtime.mode out.',
    })
  }
  const otherProfile = claims.authProfile !== undefined && claims.authProfile !== tool.auth?.profile
  const otherSecret = claims.secretRef !== undefined && claims.secretRef !== tool.auth?.secretRef
  return otherProfile || otherSecret ? refuse(state, 'secret-out-of-scope') : undefined
}

/** The request's allowlist narrows where the tool may be reached, to nothing if need be (S2). */
function refusedByAllowlist(state: Permitted): StageResult<never> | undefined {
  const { netAllowlist } = state.call.constraints
  const { endpoint, type } = state.target.tool
  if (netAllowlist === undefined || endpoint === undefined) return undefined
  const named = namedPlaces(state).map((place) => URL.parse(place))
  const places = [endpointUrl(type, endpoint), ...named]
  if (places.every((url) => url !== null && allowsUrl(netAllowlist, url))) return undefined
  return refuse(state, 'egress-denied', {
    message: "an address of the tool is outside the request's net_allowlist",
    fix: "Leave net_allowlist out, or add the tool's origins.",
    details: { path: '/constraints/net_allowlist' },
  })
}

/** What the server of an MCP tool asks a token for is looked at when it is sent. */
function refusedByScopes(state: Permitted): StageResult<never> | undefined {
  const outside = outsideScopes(state.target.tool.auth, state.call.constraints.scopes)
  return outside === undefined ? undefined : refuse(state, 'secret-out-of-scope', outside)
}

/** Where the call may have to go later to be asked about, committed or taken back (S27). */
function namedPlaces({ operation, target }: Permitted): readonly string[] {
  const { statusQuery, twoPhase } = operation.effect
  const names = [statusQuery?.operation, twoPhase?.prepare, twoPhase?.commit, twoPhase?.rollback]
  return names.flatMap((name) => target.tool.operations[name ?? '']?.request?.url ?? [])
}

type ReadInput =
  | { readonly kind: 'read'; readonly input: Json | undefined }
  | { readonly kind: 'refused'; readonly refusal: StageResult<never> }

/** S13: what runs is the stored payload. S3: `input_raw` is JSON where the tool has a schema, else text. */
function readInput(state: Permitted): ReadInput {
  const { call, continued, operation, target } = state
  const kept = continued?.payload
  if (kept !== undefined && 'inline' in kept) return { kind: 'read', input: kept.inline }
  const hasSchema = target.inputs.has(operation.name)
  const fields = hasSchema || readsFields(operation, target.tool)
  if (call.inputRaw === undefined) {
    // Text could hold the very fields that a rule looks for, and the rule would not see them (S3).
    if (fields && !hasSchema && typeof call.input === 'string') {
      const message = 'must not be text: this tool has rules on fields of its input'
      return {
        kind: 'refused',
        refusal: refuse(state, 'input-invalid', violated([{ path: '/input', message }])),
      }
    }
    return { kind: 'read', input: call.input }
  }
  if (!fields) return { kind: 'read', input: call.inputRaw }
  const parsed = parseStrictJson(call.inputRaw)
  if (parsed.ok && (hasSchema || typeof parsed.value !== 'string'))
    return { kind: 'read', input: parsed.value }
  const violations = parsed.ok
    ? [{ path: '/input_raw', message: 'must not be text: this tool has rules on fields of its input' }]
    : parsed.violations.map(({ path, message }) => ({ path: `/input_raw${path}`, message }))
  return { kind: 'refused', refusal: refuse(state, 'input-invalid', violated(violations)) }
}

function readsFields(operation: ResolvedOperation, tool: ResolvedTool): boolean {
  return (
    operation.approvalTriggers.length > 0 ||
    operation.effect.identity !== undefined ||
    tool.auditFields.length > 0
  )
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
