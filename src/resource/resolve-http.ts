// The http block of a tool: how its endpoint is asked.
import { essenceOf } from './http-carriage.ts'
import type { ResolveContext } from './resolve-context.ts'
import type { ResolvedTool } from './resolved-tool.ts'

const JSON_TYPE = 'application/json'

export function resolveHttp({ spec, type, findings }: ResolveContext): ResolvedTool['http'] {
  const { http } = spec
  if (http === undefined || type !== 'http') return undefined
  const { method = 'POST', content_type: declared, max_redirects: maxRedirects = 0 } = http
  const path = ['spec', 'http', 'content_type']
  if (declared !== undefined && (method === 'GET' || method === 'DELETE')) {
    findings.warn(path, `is not used by ${method}: the input goes into the query`, 'remove it')
  }
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(declared ?? '')?.[1]?.toLowerCase()
  if (charset !== undefined && charset !== 'utf-8' && charset !== 'utf8') {
    findings.error(path, `is in the character set ${charset}`, 'use utf-8, which is what is sent')
  }
  if (declared !== undefined && essenceOf(declared).startsWith('multipart/')) {
    const fix = 'use application/json, application/x-www-form-urlencoded or a type that is plain text'
    findings.error(path, 'multipart bodies are not made', fix)
  }
  return { method, contentType: declared ?? JSON_TYPE, maxRedirects }
}
