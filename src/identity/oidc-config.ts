// The file that says which OIDC issuers are believed, and what their claims mean here. Every mistake has its place.
import { ACTOR_KINDS } from '../contract/caller.ts'
import { isNamespace } from '../resource/name.ts'
import { createFindings, type Findings, formatProblem, type Path, toProblem } from '../resource/problem.ts'
import { locate, type SourceNode, toJson } from '../resource/source-tree.ts'
import { readYaml } from '../resource/yaml-source.ts'
import { didYouMean } from '../util/did-you-mean.ts'
import { parseDuration } from '../util/duration.ts'
import { isJsonObject, type Json, type JsonObject } from '../util/json.ts'
import { isPointer, pointer } from '../util/pointer.ts'
import { isActor, isAgentPattern, isRole, isScope } from './caller-name.ts'
import { SKEW_MS } from './token-time.ts'

/** Where a field of the caller comes from: a claim, as a JSON pointer, or the same for every token of the issuer. */
export type ClaimSource = { readonly claim: string } | { readonly value: Json }

export const CLAIM_FIELDS = ['actor', 'namespace', 'kind', 'roles', 'scopes', 'agents', 'system'] as const
export type ClaimField = (typeof CLAIM_FIELDS)[number]

export interface OidcIssuer {
  readonly issuer: string
  readonly audience: readonly string[]
  /** Absent: it is asked for at the issuer. */
  readonly jwksUri?: string
  readonly algorithms: readonly string[]
  readonly claims: Readonly<Partial<Record<ClaimField, ClaimSource>>>
  /** With it, only what it names becomes a role. */
  readonly roleMap?: Readonly<Record<string, readonly string[]>>
  /** Before the actor, so that two issuers cannot mean one. */
  readonly actorPrefix: string
  readonly skewMs: number
}

/** None of them can be verified with something that is public. */
export const ASYMMETRIC = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
] as const

export type OidcConfig =
  | { readonly ok: true; readonly issuers: readonly OidcIssuer[] }
  /** One line for each: file, line, column, path, what is wrong and how to mend it. */
  | { readonly ok: false; readonly problems: readonly string[] }

const UNKNOWN = 'is not a known field'
const MAX_SKEW_MS = 5 * 60_000
const FIELDS = [
  'issuer',
  'audience',
  'jwks_uri',
  'algorithms',
  'claims',
  'role_map',
  'actor_prefix',
  'clock_skew',
] as const

export function readOidcConfig(source: string | Uint8Array, file: string): OidcConfig {
  const { documents, problems } = readYaml(source)
  const unread = problems.map(({ at, ...problem }) => toProblem({ ...problem, severity: 'error' }, file, at))
  const [root, second] = documents
  if (unread.length > 0 || root === undefined) return { ok: false, problems: unread.map(formatProblem) }
  const findings = createFindings()
  const issuers = readIssuers(root, findings)
  if (second !== undefined) findings.error([], 'holds several documents', 'write one list of issuers')
  if (findings.all.length === 0) return { ok: true, issuers }
  const placed = findings.all.map((one) => {
    const at = locate(root, one.path, one.message === UNKNOWN ? 'key' : 'value')
    return formatProblem(toProblem(one, file, at))
  })
  return { ok: false, problems: placed }
}

function readIssuers(root: SourceNode, findings: Findings): readonly OidcIssuer[] {
  const value = toJson(root)
  if (!Array.isArray(value) || value.length === 0) {
    findings.error([], 'is no list of issuers', 'write it like: - issuer: https://login.example.com')
    return []
  }
  const issuers = value.flatMap((one, index) => readIssuer(one, [index], findings) ?? [])
  for (const [index, { issuer, actorPrefix }] of issuers.entries()) {
    const before = issuers.slice(0, index)
    if (before.some((one) => one.issuer === issuer)) {
      findings.error([index, 'issuer'], 'is there twice', 'keep one of them')
    } else if (before.some((one) => one.actorPrefix === actorPrefix)) {
      findings.error(
        [index, 'actor_prefix'],
        'is the same for two issuers: the actors of one could be taken for those of the other',
        'give each issuer its own actor_prefix',
      )
    }
  }
  return issuers
}

function readIssuer(value: Json, path: Path, findings: Findings): OidcIssuer | undefined {
  if (!isJsonObject(value)) {
    findings.error(path, 'is no issuer', 'give it the fields issuer and audience')
    return undefined
  }
  unknownFields(value, FIELDS, path, findings)
  const issuer = readUrl(value.issuer, [...path, 'issuer'], findings)
  const jwksUri =
    value.jwks_uri === undefined ? undefined : readUrl(value.jwks_uri, [...path, 'jwks_uri'], findings)
  const audience = readTexts(value.audience, [...path, 'audience'], findings, () => true)
  if (audience.length === 0) {
    findings.error([...path, 'audience'], 'is missing', 'name whom its tokens are for; others are refused')
  }
  const claims = readClaims(value.claims, [...path, 'claims'], findings)
  const roleMap = readRoleMap(value.role_map, [...path, 'role_map'], findings)
  if (roleMap !== undefined && claims.roles === undefined) {
    findings.error([...path, 'role_map'], 'has no claim to map', 'name the claim in claims.roles')
  }
  const { actor_prefix: actorPrefix = '' } = value
  if (typeof actorPrefix !== 'string' || (actorPrefix !== '' && !isActor(actorPrefix))) {
    findings.error([...path, 'actor_prefix'], 'is no text without spaces', 'write it like: corp/')
    return undefined
  }
  return {
    issuer: issuer ?? '',
    audience,
    ...(jwksUri === undefined ? {} : { jwksUri }),
    algorithms: readAlgorithms(value.algorithms, [...path, 'algorithms'], findings),
    claims,
    ...(roleMap === undefined ? {} : { roleMap }),
    actorPrefix,
    skewMs: readSkew(value.clock_skew, [...path, 'clock_skew'], findings),
  }
}

/** The keys of an issuer decide who anybody is: they are not read from a line that others can write on. */
function readUrl(value: Json | undefined, path: Path, findings: Findings): string | undefined {
  const url = typeof value === 'string' ? URL.parse(value) : null
  if (value === undefined) findings.error(path, 'is missing', 'add it')
  else if (url === null || (url.protocol !== 'https:' && !isLoopbackHttp(url))) {
    findings.error(path, 'is no https address', 'write it like https://login.example.com')
  } else if (url.username !== '' || url.password !== '' || url.hash !== '') {
    findings.error(path, 'has credentials or a fragment', 'write the address alone')
  } else return value as string
  return undefined
}

export function isLoopbackHttp({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)
}

function readAlgorithms(value: Json | undefined, path: Path, findings: Findings): readonly string[] {
  if (value === undefined) return ASYMMETRIC
  const known = (text: string) => (ASYMMETRIC as readonly string[]).includes(text)
  const given = readTexts(value, path, findings, known, `must be one of ${ASYMMETRIC.join(', ')}`)
  if (given.length === 0) findings.error(path, 'names none', 'remove it, or name one')
  return given
}

function readSkew(value: Json | undefined, path: Path, findings: Findings): number {
  if (value === undefined) return SKEW_MS
  const ms = typeof value === 'string' ? parseDuration(value) : undefined
  if (ms !== undefined && ms <= MAX_SKEW_MS) return ms
  findings.error(path, 'is no duration of at most 5m', 'write it like 30s')
  return SKEW_MS
}

function readClaims(value: Json | undefined, path: Path, findings: Findings): OidcIssuer['claims'] {
  const claims: Partial<Record<ClaimField, ClaimSource>> = { actor: { claim: '/sub' } }
  if (value === undefined) return claims
  if (!isJsonObject(value)) {
    findings.error(path, 'is no map', 'write it like: {actor: sub, roles: /realm_access/roles}')
    return claims
  }
  unknownFields(value, CLAIM_FIELDS, path, findings)
  for (const field of CLAIM_FIELDS) {
    const given = value[field]
    if (given === undefined) continue
    const source = readSource(field, given, [...path, field], findings)
    if (source !== undefined) claims[field] = source
  }
  return claims
}

/** How each field looks that is the same for every token. */
const FIXED: Readonly<Record<ClaimField, (value: Json) => boolean>> = {
  actor: () => false,
  namespace: (value) => typeof value === 'string' && isNamespace(value),
  kind: (value) => (ACTOR_KINDS as readonly Json[]).includes(value),
  roles: (value) => isListOf(value, isRole),
  scopes: (value) => isListOf(value, isScope),
  agents: (value) => isListOf(value, isAgentPattern),
  system: (value) => typeof value === 'string' && isActor(value),
}

function readSource(field: ClaimField, given: Json, path: Path, findings: Findings): ClaimSource | undefined {
  if (typeof given === 'string' && given !== '') {
    const claim = given.startsWith('/') ? given : pointer([given])
    if (isPointer(claim)) return { claim }
    findings.error(
      path,
      'is neither the name of a claim nor a JSON pointer',
      'write it like /realm_access/roles',
    )
  } else if (isJsonObject(given) && Object.keys(given).length === 1 && given.value !== undefined) {
    if (FIXED[field](given.value)) return { value: given.value }
    const what = field === 'actor' ? 'cannot be the same for everybody' : `is no ${field} that can be`
    findings.error([...path, 'value'], what, 'see the guide on identity')
  } else {
    findings.error(
      path,
      'is neither a claim nor a fixed value',
      `write ${field}: CLAIM, or ${field}: {value: …}`,
    )
  }
  return undefined
}

function readRoleMap(value: Json | undefined, path: Path, findings: Findings): OidcIssuer['roleMap'] {
  if (value === undefined) return undefined
  if (!isJsonObject(value)) {
    findings.error(path, 'is no map', 'write it like: {their-group: our-role}')
    return undefined
  }
  const map: Record<string, readonly string[]> = Object.create(null) as Record<string, readonly string[]>
  for (const [from, to] of Object.entries(value)) {
    map[from] = readTexts(to, [...path, from], findings, isRole, 'is no name of a role')
  }
  return map
}

/** One text or a list of them. */
function readTexts(
  value: Json | undefined,
  path: Path,
  findings: Findings,
  fits: (text: string) => boolean,
  wrong = 'is no text',
): readonly string[] {
  if (value === undefined) return []
  const list: readonly Json[] = Array.isArray(value) ? value : [value]
  return list.flatMap((one, index) => {
    if (typeof one === 'string' && one !== '' && fits(one)) return [one]
    findings.error(Array.isArray(value) ? [...path, index] : path, wrong, 'correct or remove it')
    return []
  })
}

function unknownFields(value: JsonObject, known: readonly string[], path: Path, findings: Findings): void {
  for (const name of Object.keys(value)) {
    if (known.includes(name)) continue
    const guess = didYouMean(name, known)
    const fix = guess === undefined ? `remove it; known here: ${known.join(', ')}` : `did you mean ${guess}?`
    findings.error([...path, name], UNKNOWN, fix)
  }
}

function isListOf(value: Json, fits: (text: string) => boolean): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === 'string' && fits(one))
}
