// A strict reader for the XML that the suite writes: it throws at anything that is not well-formed.

export interface Element {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  readonly children: Element[]
  text: string
}

const TAG = /<(\/?)([A-Za-z][\w-]*)((?:\s+[A-Za-z][\w-]*="[^"<]*")*)\s*(\/?)>/y
const ATTRIBUTE = /([A-Za-z][\w-]*)="([^"<]*)"/g
const ENTITY = /&(?:(amp|lt|gt|quot|apos)|#(\d+));/g
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what XML has no place for
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g
const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** Text with the replacement character for everything that XML 1.0 cannot hold. */
export function withoutForbidden(text: string): string {
  return text.toWellFormed().replaceAll(FORBIDDEN, '\ufffd')
}

export function parseXml(source: string): Element {
  const declaration = '<?xml version="1.0" encoding="UTF-8"?>\n'
  if (!source.startsWith(declaration)) throw new Error('no XML declaration')
  if (source !== withoutForbidden(source)) {
    throw new Error('a character that XML has no place for')
  }
  const root: Element = { name: '', attributes: {}, children: [], text: '' }
  const open: Element[] = [root]
  let at = declaration.length
  while (at < source.length) {
    const top = open.at(-1) as Element
    const next = source.indexOf('<', at)
    top.text += decode(source.slice(at, next < 0 ? source.length : next))
    if (next < 0) break
    TAG.lastIndex = next
    const match = TAG.exec(source)
    if (match === null) throw new Error(`no tag at ${next}: ${source.slice(next, next + 40)}`)
    at = TAG.lastIndex
    const [, closing, name = '', attributes = '', empty] = match
    if (closing) {
      if (open.pop()?.name !== name) throw new Error(`</${name}> closes another element`)
      continue
    }
    const element = { name, attributes: attributesOf(attributes), children: [], text: '' }
    top.children.push(element)
    if (!empty) open.push(element)
  }
  if (open.length !== 1 || root.children.length !== 1 || root.text.trim() !== '')
    throw new Error('not one element')
  return root.children[0] as Element
}

function attributesOf(text: string): Record<string, string> {
  const found = [...text.matchAll(ATTRIBUTE)].map(
    ([, name = '', value = '']) => [name, decode(value)] as const,
  )
  if (new Set(found.map(([name]) => name)).size !== found.length) throw new Error('an attribute twice')
  return Object.fromEntries(found)
}

function decode(text: string): string {
  if (text.replaceAll(ENTITY, '').includes('&'))
    throw new Error(`an entity that is none in ${text.slice(0, 80)}`)
  return text.replaceAll(ENTITY, (_, name, code) =>
    name ? (NAMED[name] ?? '') : String.fromCodePoint(Number(code)),
  )
}
