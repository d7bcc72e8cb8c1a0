// Text of others, made fit to be shown: what a model wrote must look like what it is.

/** Controls, and marks that turn the direction of writing: with them a text can look like another one. */
const UNSEEN = /[\p{Cc}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/gu

/** One line. */
export function visibleLine(text: string, most: number): string {
  return clip(text.replace(/\s+/gu, ' ').replace(UNSEEN, shown), most)
}

/** Lines stay lines. What is cut off is told: an approver must not take a part for the whole. */
export function visibleText(text: string, most: number): string {
  const lines = text.replace(/\r\n?/g, '\n').split('\n')
  const whole = lines.map((line) => line.replace(/\t/g, '  ').replace(UNSEEN, shown)).join('\n')
  return cutText(whole, most)
}

/** The same for a text that is fit to be shown, and for so many lines of it. */
export function cutText(text: string, most: number, mostLines = Number.POSITIVE_INFINITY): string {
  const lines = text.split('\n')
  const kept = (lines.length > mostLines ? lines.slice(0, mostLines).join('\n') : text).slice(0, most)
  if (kept.length === text.length) return text.toWellFormed()
  return `${kept.toWellFormed()}\n… ${text.length - kept.length} more characters are not shown here`
}

/** By its number: leaving it out would hide that it was there. */
function shown(mark: string): string {
  return `\\u${(mark.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`
}

function clip(text: string, most: number): string {
  const whole = text.toWellFormed()
  return whole.length <= most ? whole : `${whole.slice(0, most - 1).toWellFormed()}…`
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"'`]/g, (mark) => `&#${mark.charCodeAt(0)};`)
}
