// What kind of place an IP address is. Judged on the address that is dialled, never on how a name or a number is written.
import { BlockList, isIP } from 'node:net'

export const ADDRESS_CLASSES = ['public', 'loopback', 'private', 'forbidden'] as const
/** `forbidden`: link-local, cloud metadata, multicast, unspecified, reserved: no tool lives there. */
export type AddressClass = (typeof ADDRESS_CLASSES)[number]

/** What somebody may reach beside public addresses. `intranet` is `private` without this machine (S51). */
export const REACHES = ['public', 'loopback', 'private', 'intranet'] as const
export type Reach = (typeof REACHES)[number]

const WITHIN: Readonly<Record<Reach, readonly AddressClass[]>> = {
  public: ['public'],
  loopback: ['public', 'loopback'],
  private: ['public', 'loopback', 'private'],
  intranet: ['public', 'private'],
}

const LOOPBACK = listOf('127.0.0.0/8', '::1/128')
const PRIVATE = listOf(
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  // Shared by carriers, and by clusters for pods and services.
  '100.64.0.0/10',
  // For measurements between networks.
  '198.18.0.0/15',
  'fc00::/7',
)
const FORBIDDEN = listOf(
  '0.0.0.0/8',
  '169.254.0.0/16',
  // Metadata services that are not link-local.
  '100.100.100.200/32',
  '168.63.129.16/32',
  'fd00:ec2::254/128',
  'fd20:ce::254/128',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/128',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
  '100::/64',
  '2001:db8::/32',
  // These carry an IPv4 address to a gateway that nobody here has checked.
  '::ffff:0:0:0/96',
  '64:ff9b:1::/48',
  '2001::/32',
  '2002::/16',
)

function listOf(...nets: readonly string[]): BlockList {
  const list = new BlockList()
  for (const net of nets) {
    const [address = '', bits] = net.split('/')
    list.addSubnet(address, Number(bits), address.includes(':') ? 'ipv6' : 'ipv4')
  }
  return list
}

/** Takes an address as a resolver or a socket gives it; anything else is forbidden. */
export function classOf(address: string): AddressClass {
  const plain = embeddedV4(address) ?? address
  const version = isIP(plain)
  if (version === 0) return 'forbidden'
  const family = version === 4 ? 'ipv4' : 'ipv6'
  if (FORBIDDEN.check(plain, family)) return 'forbidden'
  if (LOOPBACK.check(plain, family)) return 'loopback'
  return PRIVATE.check(plain, family) ? 'private' : 'public'
}

/** Why it is out of reach; undefined where it is not. */
export function outOfReach(address: string, reach: Reach): string | undefined {
  const found = classOf(address)
  if (found === 'forbidden') return 'is link-local, metadata or another address where no tool lives'
  return WITHIN[reach].includes(found) ? undefined : `is a ${found} address`
}

/** IPv4 inside IPv6: mapped (::ffff:a.b.c.d), compatible (::a.b.c.d) and NAT64 (64:ff9b::a.b.c.d). */
function embeddedV4(address: string): string | undefined {
  if (isIP(address) !== 6 || address.includes('%')) return undefined
  const words = wordsOf(address)
  const [high, low] = [words[6] ?? 0, words[7] ?? 0]
  const start = words.slice(0, 6).join(':')
  const mapped = start === '0:0:0:0:0:65535'
  const nat64 = start === `${0x64}:${0xff9b}:0:0:0:0`
  const compatible = start === '0:0:0:0:0:0' && high !== 0
  if (!mapped && !nat64 && !compatible) return undefined
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`
}

function wordsOf(address: string): readonly number[] {
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address)
  const text =
    dotted === null ? address : `${dotted[1]}${hex(dotted[2], dotted[3])}:${hex(dotted[4], dotted[5])}`
  const [head = '', tail] = text.split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? [] : Array<string>(8 - left.length - right.length).fill('0')
  return [...left, ...zeros, ...right].map((word) => Number.parseInt(word, 16))
}

function hex(high: string | undefined, low: string | undefined): string {
  return ((Number(high) << 8) | Number(low)).toString(16)
}
