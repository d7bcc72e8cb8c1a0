// Which origins a list of allowed ones covers. Compared part by part: a prefix of the text would let look-alikes through.

interface AllowedOrigin {
  /** Absent: http and https. */
  readonly scheme?: string
  readonly host: string
  /** Any name below `host`, but not `host` itself. */
  readonly below: boolean
  /** Absent: the port that the scheme stands for. */
  readonly port?: string
}

const ENTRY =
  /^(?:(https?):\/\/)?(\*\.)?([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::(\d{1,5}))?\/?$/i

const OWN_PORT = { http: '80', https: '443' } as const

/** undefined for an entry that is no origin: paths, bare stars and stars inside a name are not read. */
export function parseAllowedOrigin(entry: string): AllowedOrigin | undefined {
  const match = ENTRY.exec(entry.trim())
  const host = match?.[3]
  if (match === null || host === undefined) return undefined
  // `*.com` would allow half of the network.
  if (match[2] !== undefined && !host.includes('.')) return undefined
  return {
    host: host.toLowerCase(),
    below: match[2] !== undefined,
    ...(match[1] === undefined ? {} : { scheme: match[1].toLowerCase() }),
    ...(match[4] === undefined ? {} : { port: match[4] }),
  }
}

/** An empty list allows nothing. */
export function allowsUrl(allowlist: readonly string[], url: URL): boolean {
  return allowlist.some((entry) => {
    const allowed = parseAllowedOrigin(entry)
    return allowed !== undefined && covers(allowed, url)
  })
}

function covers(allowed: AllowedOrigin, url: URL): boolean {
  if (allowed.scheme !== undefined && url.protocol !== `${allowed.scheme}:`) return false
  if (allowed.scheme === undefined && url.protocol !== 'http:' && url.protocol !== 'https:') return false
  // URL leaves a scheme's own port out, so an entry that spells it has to be read in the same way.
  const own = url.protocol === 'https:' ? '443' : '80'
  if ((allowed.port ?? own) !== (url.port === '' ? own : url.port)) return false
  return allowed.below ? url.hostname.endsWith(`.${allowed.host}`) : url.hostname === allowed.host
}

/**
 * What two lists both allow (S2). An empty `declared` is no list at all, since apply refuses one that does not cover
 * the endpoint; undefined where nobody has a list.
 */
export function narrowAllowlist(
  declared: readonly string[],
  asked: readonly string[] | undefined,
): readonly string[] | undefined {
  if (declared.length === 0) return asked
  if (asked === undefined) return declared
  const theirs = asked.flatMap((entry) => parseAllowedOrigin(entry) ?? [])
  const own = declared.flatMap((entry) => parseAllowedOrigin(entry) ?? [])
  return [...new Set(own.flatMap((one) => theirs.flatMap((other) => overlap(one, other))))]
}

/** The origins that both cover: none, or one per scheme. */
function overlap(a: AllowedOrigin, b: AllowedOrigin): readonly string[] {
  const host = narrowerHost(a, b) ?? narrowerHost(b, a)
  if (host === undefined) return []
  return (['https', 'http'] as const).flatMap((scheme) => {
    const port = portOf(a, scheme)
    if (port === undefined || port !== portOf(b, scheme)) return []
    return [`${scheme}://${host}${port === OWN_PORT[scheme] ? '' : `:${port}`}`]
  })
}

/** The host of `inner` where `outer` covers all of it. */
function narrowerHost(inner: AllowedOrigin, outer: AllowedOrigin): string | undefined {
  const same = inner.host === outer.host && inner.below === outer.below
  if (!same && !(outer.below && inner.host.endsWith(`.${outer.host}`))) return undefined
  return `${inner.below ? '*.' : ''}${inner.host}`
}

/** The one port that an entry covers with this scheme. */
function portOf(allowed: AllowedOrigin, scheme: 'http' | 'https'): string | undefined {
  if (allowed.scheme !== undefined && allowed.scheme !== scheme) return undefined
  return allowed.port ?? OWN_PORT[scheme]
}

/** By its text alone: names that resolve to this machine are found when the connection is made. */
export function isLoopbackHost(host: string): boolean {
  return (
    host === 'localhost' ||
    host.endsWith('.localhost') ||
    /^127\.\d+\.\d+\.\d+$/.test(host) ||
    host === '[::1]'
  )
}
