/**
 * Content that is the same in every answer: its bytes, their gzip form and their entity tag, each computed once (RFC
 * 9110 sections 8.8.3, 12.5.3, 13.1.2). Compression runs in the thread pool, not on the event loop.
 */
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'

const compress = promisify(gzip)
/** Longer header fields are ignored: no client sends any. */
const FIELD_CHARACTERS_MAX = 1_000

export class CachedContent {
  readonly #bytes: Buffer
  readonly #tag: string
  #compressed: Promise<Buffer> | undefined

  constructor(content: string | Buffer) {
    this.#bytes = typeof content === 'string' ? Buffer.from(content) : content
    this.#tag = createHash('sha256').update(this.#bytes).digest('base64url')
  }

  /**
   * Sets the answer's status and headers. Resolves to its body, or null when the client has the content already (304).
   */
  async answer({ headers }: FastifyRequest, reply: FastifyReply): Promise<Buffer | null> {
    const isCompressed = acceptsGzip(headers['accept-encoding'] ?? '')
    const tag = `"${this.#tag}${isCompressed ? '-gzip' : ''}"`
    reply.header('etag', tag).header('vary', varyWith(reply.getHeader('vary')))
    if (namesTag(headers['if-none-match'] ?? '', tag)) {
      reply.status(304)
      return null
    }
    if (!isCompressed) return this.#bytes
    reply.header('content-encoding', 'gzip')
    this.#compressed ??= compress(this.#bytes)
    return await this.#compressed
  }
}

/** Adds to an existing `Vary` field, such as `Origin`. */
function varyWith(present: unknown): string {
  return typeof present === 'string' && present !== '' ? `${present}, Accept-Encoding` : 'Accept-Encoding'
}

function acceptsGzip(field: string): boolean {
  if (field.length > FIELD_CHARACTERS_MAX) return false
  const weights = new Map<string, number>()
  for (const entry of field.toLowerCase().split(',')) {
    const [coding = '', ...parameters] = entry.split(';').map((part) => part.trim())
    const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1'
    weights.set(coding, Number(weight))
  }
  return (weights.get('gzip') ?? weights.get('*') ?? 0) > 0
}

/** Whether `If-None-Match` names the tag, by weak comparison (RFC 9110 section 13.1.2). */
export function namesTag(field: string, tag: string): boolean {
  if (field.length > FIELD_CHARACTERS_MAX) return false
  return field.split(',').some((entry) => ['*', tag].includes(entry.trim().replace(/^W\//, '')))
}
