/**
 * The UNIX socket of a data folder's lock: a process listens on it for as long as it lives, and others find out by
 * connecting. Nothing is sent: a process that is stopped or hangs is connected to all the same, by the kernel. The path
 * of a socket holds about a hundred bytes; in a folder with a longer name it is reached through an open descriptor of
 * the folder, because Node cuts a longer path off without an error and listens elsewhere.
 */
import { closeSync, openSync } from 'node:fs'
import { chmod, lstat, rm } from 'node:fs/promises'
import { createConnection, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import type { Log } from '../base/log.ts'

export interface LockSocket {
  /** Stops listening and removes the socket. */
  close(): Promise<void>
}

/** `sun_path` holds 108 bytes on Linux and 104 on BSD and macOS, a zero at the end included (unix(7)). */
const PATH_BYTES_MAX = 103
/** What a file system answers that cannot hold sockets, or a sandbox that forbids them. */
const UNSUPPORTED = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP']

/** Name of the socket in the folder; undefined for what is no nonce of ours, so that it never names another file. */
export function socketName(nonce: string | undefined): string | undefined {
  return nonce !== undefined && /^[0-9a-f-]{36}$/.test(nonce) ? `lock.${nonce}.socket` : undefined
}

/** Listens in the folder. Undefined where it cannot hold sockets, which is logged. */
export async function listenOnSocket(folder: string, nonce: string, log: Log): Promise<LockSocket | undefined> {
  const name = `lock.${nonce}.socket`
  const path = join(folder, name)
  const reach = reachOf(folder, name)
  const server = createServer((socket) => socket.destroy())
  // It must not keep a process alive that has nothing else to do.
  server.unref()
  try {
    await listen(server, reach.path)
    // Connecting takes the right to write.
    await chmod(path, 0o600)
    if (!(await lstat(path)).isSocket()) throw new Error(`${path} is not the socket that was made`)
    // Out of descriptors it cannot accept; the kernel completes connections all the same.
    server.on('error', (error) => log.warn({ folder, err: error }, 'the lock of the data folder cannot accept'))
  } catch (error) {
    await close(server)
    reach.close()
    const { code = '' } = error as NodeJS.ErrnoException
    if (!UNSUPPORTED.includes(code)) throw new Error(`the lock of ${folder} cannot be made`, { cause: error })
    log.warn(
      { folder, code },
      'the file system of the data folder has no UNIX sockets: a second start in another container is not noticed; ' +
        'put data_dir on a local volume',
    )
    return undefined
  }
  let closed: Promise<void> | undefined
  const closeOnce = async (): Promise<void> => {
    await close(server)
    await rm(path, { force: true })
    // Node removes the socket by the path it was given, so that has to stay valid until now.
    reach.close()
  }
  return {
    close() {
      // A second call must not close a descriptor that something else has by then.
      closed ??= closeOnce()
      return closed
    },
  }
}

/**
 * Whether a process listens on the socket of that name, none does, or there is no such file. What cannot be found out
 * counts as listening: its queue is full, or it belongs to another user.
 */
export async function probeSocket(folder: string, name: string): Promise<'listening' | 'refused' | 'absent'> {
  const reach = reachOf(folder, name)
  try {
    await connect(reach.path)
    return 'listening'
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return 'absent'
    return code === 'ECONNREFUSED' ? 'refused' : 'listening'
  } finally {
    reach.close()
  }
}

/** A path to a socket that is short enough, valid until it is closed. */
interface Reach {
  readonly path: string
  close(): void
}

function reachOf(folder: string, name: string): Reach {
  const path = join(folder, name)
  if (Buffer.byteLength(path) <= PATH_BYTES_MAX) return { path, close: () => undefined }
  if (process.platform !== 'linux') throw new Error(`${path} is too long for a socket: name a shorter data_dir`)
  const descriptor = openSync(folder, 'r')
  return { path: `/proc/self/fd/${descriptor}/${name}`, close: () => closeSync(descriptor) }
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(path, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

/** Resolves also when it did not listen. */
function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
  })
}

function connect(path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(path, () => {
      socket.destroy()
      resolve()
    })
    socket.once('error', reject)
  })
}
