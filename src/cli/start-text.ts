// What a server says when it has started.
import type { Config } from '../config/config-schema.ts'
import { configWarnings } from '../config/resolve-config.ts'
import { showUrl } from '../util/show-url.ts'
import type { Tour } from './examples.ts'
import type { OpenData } from './open-data.ts'
import { renderFields } from './print.ts'

export interface StartFacts {
  readonly version: string
  readonly url: string
  /** Where calls are taken over gRPC. */
  readonly grpcUrl?: string
  readonly config: Config
  readonly data: OpenData
  readonly tour: Tour | undefined
}

export function renderStart({ version, url, grpcUrl, config, data, tour }: StartFacts): string {
  const facts = renderFields([
    ['Address', url],
    ...(grpcUrl === undefined ? [] : [['gRPC', grpcUrl] as const]),
    ['Data', data.folder.path],
    ['Store', storeText(config)],
    ['Profile', profileText(config)],
    ['Admin token', tokenText(data)],
    ...configWarnings(config).map((warning) => ['Warning', warning] as const),
  ])
  const commands = tour
    ? `\nTry, in another terminal:\n${tour.commands.map((line) => `  ${line}\n`).join('')}`
    : ''
  return `Writ ${version} is up. Stop it with Ctrl-C.\n${facts}${commands}`
}

function storeText({ store }: Config): string {
  if (store === 'sqlite') return 'a database file in the data folder, for this server alone'
  return store === 'memory' ? 'memory: nothing is kept when it ends' : showUrl(store)
}

function profileText({ profile, behind_proxy }: Config): string {
  if (profile === 'local') return 'local: for a laptop, not for other people to reach'
  return behind_proxy
    ? 'production: behind a proxy, which must speak TLS to the callers; this server has no TLS of its own'
    : 'production: on this machine only; this server has no TLS of its own'
}

function tokenText({ folder, tokenFrom }: OpenData): string {
  if (tokenFrom === 'environment') return 'from WRIT_ADMIN_TOKEN'
  return tokenFrom === 'file'
    ? `in ${folder.tokenFile}`
    : `made now, in ${folder.tokenFile}; only you can read it`
}
