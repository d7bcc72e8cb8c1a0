// The pages of the project, and what they hold: links, headings, fenced code and inline code.
import { repoFiles } from '../../scripts/repo-files.ts'

export interface Fence {
  readonly language: string
  readonly text: string
  readonly line: number
}

export interface Page {
  readonly path: string
  readonly links: readonly { readonly target: string; readonly line: number }[]
  readonly anchors: ReadonlySet<string>
  readonly fences: readonly Fence[]
  readonly code: readonly { readonly text: string; readonly line: number }[]
}

/** As the usual hosts make them: lower case, no punctuation, hyphens for spaces, a number for a repeat. */
function anchorOf(heading: string, seen: Map<string, number>): string {
  const base = heading
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-')
  const count = seen.get(base) ?? 0
  seen.set(base, count + 1)
  return count === 0 ? base : `${base}-${count}`
}

export function readPage(path: string, text: string): Page {
  const links: { target: string; line: number }[] = []
  const anchors = new Set<string>()
  const fences: Fence[] = []
  const code: { text: string; line: number }[] = []
  const seen = new Map<string, number>()
  let open: { language: string; lines: string[]; line: number; mark: string } | undefined
  for (const [at, content] of text.split('\n').entries()) {
    const line = at + 1
    const mark = /^\s*(`{3,}|~{3,})\s*(\S*)/.exec(content)
    if (open !== undefined) {
      if (mark?.[1]?.startsWith(open.mark) && mark[2] === '') {
        fences.push({ language: open.language, text: open.lines.join('\n'), line: open.line })
        open = undefined
      } else open.lines.push(content)
      continue
    }
    if (mark !== null) {
      open = { language: mark[2] ?? '', lines: [], line: line + 1, mark: mark[1] ?? '```' }
      continue
    }
    const heading = /^#{1,6}\s+(.*?)\s*#*$/.exec(content)
    if (heading !== null) anchors.add(anchorOf(heading[1] ?? '', seen))
    for (const [, span] of content.matchAll(/`([^`]+)`/g)) code.push({ text: span ?? '', line })
    const plain = content.replace(/`[^`]*`/g, '')
    for (const [, target] of plain.matchAll(/\]\(([^)\s]+)[^)]*\)/g))
      links.push({ target: target ?? '', line })
    for (const [, target] of plain.matchAll(/^\[[^\]]+\]:\s*(\S+)/g))
      links.push({ target: target ?? '', line })
  }
  return { path, links, anchors, fences, code }
}

export function allPages(): readonly Page[] {
  return repoFiles()
    .filter((file) => file.path.endsWith('.md'))
    .map((file) => readPage(file.path, file.text))
}
