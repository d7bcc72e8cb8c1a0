// UUIDv7 (RFC 9562): ids that sort by the time they were made.

/** Ids per draw of random bytes; one draw per id would cost more than the id. */
const POOL_IDS = 128
const BYTES_PER_ID = 10

const HEX: readonly string[] = Object.freeze(
  Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0')),
)

/**
 * Makes ids that only ever grow, whatever the clock does. Within a millisecond the 12 bits after the version count up
 * from a random start below half (RFC 9562, 6.2, method 1); when they overflow, or while the clock is behind the last
 * id, the time of the last id is carried on.
 */
export function createUuid7(now: () => number, randomBytes: (size: number) => Uint8Array): () => string {
  let pool: Uint8Array = new Uint8Array(0)
  let offset = 0
  let time = -1
  let counter = 0

  return () => {
    if (offset + BYTES_PER_ID > pool.length) {
      pool = randomBytes(POOL_IDS * BYTES_PER_ID)
      offset = 0
    }
    const at = offset
    offset += BYTES_PER_ID
    const wall = Math.floor(now())
    if (wall > time) {
      time = wall
      counter = (byte(pool, at + 8) << 3) | (byte(pool, at + 9) >> 5)
    } else if (++counter > 0xfff) {
      time++
      counter = (byte(pool, at + 8) << 3) | (byte(pool, at + 9) >> 5)
    }
    const low = time % 0x1_0000_0000
    const high = (time - low) / 0x1_0000_0000
    return (
      `${hex(high >>> 8)}${hex(high)}${hex(low >>> 24)}${hex(low >>> 16)}-${hex(low >>> 8)}${hex(low)}` +
      `-${hex(0x70 | (counter >>> 8))}${hex(counter)}-${hex(0x80 | (byte(pool, at) & 0x3f))}${hex(byte(pool, at + 1))}` +
      `-${hex(byte(pool, at + 2))}${hex(byte(pool, at + 3))}${hex(byte(pool, at + 4))}` +
      `${hex(byte(pool, at + 5))}${hex(byte(pool, at + 6))}${hex(byte(pool, at + 7))}`
    )
  }
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Any UUID of any version, in the plain notation. */
export function isUuid(text: string): boolean {
  return text.length === 36 && UUID.test(text)
}

function hex(value: number): string {
  return HEX[value & 0xff] as string
}

function byte(bytes: Uint8Array, index: number): number {
  return bytes[index] as number
}
