// Whether a value can be put into a header as it is.

/** Of a header's value; most servers take no more than 8 KiB for all of them. */
const LONGEST = 8 * 1024

/** Why not, without a word of the value; undefined where it can. */
export function headerFlaw(value: string): string | undefined {
  if (value.length > LONGEST) return `is longer than ${LONGEST} characters`
  for (let index = 0; index < value.length; index++) {
    const code = value.charCodeAt(index)
    if (code === 0x0a || code === 0x0d) return 'holds a line break, which no header can carry'
    if ((code < 0x20 && code !== 0x09) || code === 0x7f)
      return 'holds a control character, which no header can carry'
    if (code > 0xff) return 'holds a character outside Latin-1, which no header can carry'
  }
  return undefined
}
