// A way out to a service with a certificate authority, or a client certificate, of its own. The same guard as everywhere.
import { createEgress, type Egress } from '../../egress/egress.ts'
import { createNetwork } from '../../egress/network.ts'
import type { ProviderKit } from './provider.ts'

export interface TrustOptions {
  readonly ca?: string | undefined
  readonly cert?: string | undefined
  readonly key?: string | undefined
}

export interface TrustingEgress {
  readonly egress: Egress
  close(): Promise<void>
}

export function createTrustingEgress(kit: ProviderKit, url: URL, trust: TrustOptions): TrustingEgress {
  const { ca, cert, key } = trust
  if (ca === undefined && cert === undefined) return { egress: kit.egress, close: async () => {} }
  const network = createNetwork({
    tls: {
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined || key === undefined ? {} : { cert, key }),
    },
  })
  const world = { after: kit.world.after, network }
  return { egress: createEgress({ world, reach: kit.reach(url) }), close: () => network.destroy() }
}
