/** A client socket whose other end is a session in a simulation's hub: the service's own code. */
import type { Session } from '../../src/streaming/gateway/session.ts'
import { FakeSocket } from './client-platform.ts'
import { ANY_TOKEN, FakeTransport } from './fake-transport.ts'
import type { StreamSimulation } from './stream-simulation.ts'

export class HubSocket extends FakeSocket {
  readonly transport: FakeTransport
  session: Session | undefined

  constructor(
    url: string,
    offered: readonly string[],
    deliver: (text: string, socket: HubSocket) => void,
    kernelBytes = 8_192,
  ) {
    super(url, offered)
    this.transport = new FakeTransport(kernelBytes, (text) => deliver(text, this))
  }

  join(simulation: StreamSimulation, protocol: string): void {
    this.transport.subprotocol = protocol
    this.session = simulation.hub.open(this.transport, ANY_TOKEN)
    this.onRequest = (request) => this.session?.receive({ data: Buffer.from(JSON.stringify(request)), isBinary: false })
    this.open(protocol)
  }

  override close(): void {
    super.close()
    this.leave()
  }

  leave(): void {
    if (!this.transport.isOpen) return
    this.transport.ended()
    this.session?.end()
  }
}
