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

/** By its text alone: names that resolve to this machine are found when the connection is made. */
export function isLoopbackHost(host: string): boolean {
  return (
    host === 'localhost' ||
    host.endsWith('.localhost') ||
    /^127\.\d+\.\d+\.\d+$/.test(host) ||
    host === '[::1]'
  )
}
