// Text made safe for HTML, JavaScript and the query of a URL, byte for byte as Go's text/template does it.
import { encodeRune, isPrint, runesOf } from './go-text.ts'

const HTML: Readonly<Record<string, string>> = {
  '\0': encodeRune(0xfffd),
  '"': '&#34;',
  "'": '&#39;',
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
}
const JS: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  "'": "\\'",
  '"': '\\"',
  '<': '\\u003C',
  '>': '\\u003E',
  '&': '\\u0026',
  '=': '\\u003D',
}

const upperHex = (code: number, digits: number): string =>
  code.toString(16).toUpperCase().padStart(digits, '0')

export function escapeHtml(bytes: string): string {
  return [...bytes].map((char) => HTML[char] ?? char).join('')
}

export function escapeJs(bytes: string): string {
  let escaped = ''
  let at = 0
  for (const { code, size } of runesOf(bytes)) {
    const raw = bytes.slice(at, at + size)
    at += size
    const isSafe = code < 0x80 ? code >= 0x20 : isPrint(code)
    escaped += JS[raw] ?? (isSafe ? raw : `\\u${upperHex(code, 4)}`)
  }
  return escaped
}

export function escapeQuery(bytes: string): string {
  return bytes.replace(/[^A-Za-z0-9_.~-]/g, (char) =>
    char === ' ' ? '+' : `%${upperHex(char.charCodeAt(0), 2)}`,
  )
}
