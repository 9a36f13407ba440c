/**
 * Questions from one node to others, and their answers: JSON documents. Readers ignore unknown members. Each question
 * is sent once and awaited for a limited time. A node that does not answer in time may still perform the request, so
 * every request can be repeated. They carry no secret.
 */
import { assert } from '../../platform/base/assert.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { newId } from '../../platform/base/ids.ts'
import { isObject, type JsonObject } from '../../platform/base/json-value.ts'
import type { Log } from '../../platform/base/log.ts'
import { isProblemCode, Problem } from '../../platform/http/problem.ts'
import { parseDocument } from './announcement.ts'
import type { NodeDocument, NodeTransport } from './nodes.ts'

/** How long the nodes' answers are awaited. */
const ANSWER_MILLISECONDS_MAX = 2_000
const QUESTION_BYTES_MAX = 4_096
/** Half the NATS limit in its default configuration. */
const ANSWER_BYTES_MAX = 524_288
/** Bytes in an answer around its value. */
const ENVELOPE_BYTES_MAX = 256
/** Questions being answered. Further ones are answered with a problem. */
const ANSWERING_MAX = 16

/** @param bytesMax the most bytes in the answer's JSON text */
export type Answerer = (question: JsonObject, bytesMax: number) => Promise<object>

/** What a node answered: a value, which the asker validates, or a problem. Undefined: nothing in time. */
export type NodeAnswer = { readonly value: unknown } | { readonly problem: Problem } | undefined

interface QuestionsOptions {
  readonly transport: NodeTransport | undefined
  readonly clock: Clock
  readonly log: Log
  /** The problem to answer with for an error. Undefined for an internal one. */
  readonly translate: (error: unknown) => Problem | undefined
}

export class NodeQuestions {
  readonly #options: QuestionsOptions
  readonly #answerers = new Map<string, Answerer>()
  readonly #asked = new Map<string, (answer: NodeAnswer) => void>()
  #answering = 0

  constructor(options: QuestionsOptions) {
    this.#options = options
    const { transport } = options
    transport?.onQuestion((bytes, answer) => void this.#answer(bytes, answer))
    transport?.onAnswer((bytes) => this.#take(bytes))
  }

  /** Answers questions with this kind from now on. */
  answer(kind: string, answerer: Answerer): void {
    this.#answerers.set(kind, answerer)
  }

  /** Asks each node in `nodes`. Resolves with their answers in the same order, after two seconds at the latest. */
  ask(kind: string, question: object, nodes: readonly Pick<NodeDocument, 'id'>[]): Promise<readonly NodeAnswer[]> {
    return Promise.all(nodes.map(({ id }) => this.#ask(id, kind, question)))
  }

  #ask(node: string, kind: string, question: object): Promise<NodeAnswer> {
    const { transport, clock } = this.#options
    assert(transport !== undefined, 'another node is known without a bus')
    const id = newId()
    return new Promise((resolve) => {
      const finish = (answer: NodeAnswer): void => {
        timer.cancel()
        this.#asked.delete(id)
        resolve(answer)
      }
      const timer = clock.schedule(ANSWER_MILLISECONDS_MAX, () => finish(undefined))
      this.#asked.set(id, finish)
      transport.ask(node, Buffer.from(JSON.stringify({ id, kind, question })))
    })
  }

  #take(bytes: Buffer): void {
    const { id, value, problem } = parseDocument(bytes, ANSWER_BYTES_MAX) ?? {}
    const finish = typeof id === 'string' ? this.#asked.get(id) : undefined
    if (finish === undefined) return
    if (!isObject(problem)) {
      finish({ value })
      return
    }
    const { code, detail } = problem
    finish({ problem: new Problem(isProblemCode(code) ? code : 'internal', String(detail)) })
  }

  async #answer(bytes: Buffer, send: (bytes: Buffer) => void): Promise<void> {
    const { id, kind, question } = parseDocument(bytes, QUESTION_BYTES_MAX) ?? {}
    if (typeof id !== 'string' || typeof kind !== 'string' || !isObject(question)) return
    const { transport } = this.#options
    assert(transport !== undefined, 'a question came without a bus')
    const bytesMax = Math.min(ANSWER_BYTES_MAX, transport.payloadBytesMax) - ENVELOPE_BYTES_MAX
    const answered = await this.#valueOf(kind, question, bytesMax)
    send(Buffer.from(JSON.stringify({ id, ...answered })))
  }

  async #valueOf(kind: string, question: JsonObject, bytesMax: number): Promise<object> {
    const answerer = this.#answerers.get(kind)
    if (answerer === undefined) return problemOf(new Problem('not_found', `this node does not know '${kind}'`))
    if (this.#answering >= ANSWERING_MAX)
      return problemOf(new Problem('unavailable', 'this node is already answering its maximum number of questions'))
    this.#answering += 1
    try {
      return { value: await answerer(question, bytesMax) }
    } catch (error) {
      const problem = error instanceof Problem ? error : this.#options.translate(error)
      if (problem !== undefined) return problemOf(problem)
      this.#options.log.error({ kind, err: error }, 'another node’s question failed')
      return problemOf(new Problem('internal', 'the node failed. See its log'))
    } finally {
      this.#answering -= 1
    }
  }
}

function problemOf({ code, message: detail }: Problem): { readonly problem: object } {
  return { problem: { code, detail } }
}
