/**
 * Reads a whole regular file with a limited size. A pipe, device or directory in its place is an error, where reading
 * it could block for ever.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'

/**
 * @throws `node:fs` errors, and an Error without a code when it is not a regular file or too large. None quotes the
 *   content.
 */
export function readRegularFile(path: string, bytesMax: number): Buffer {
  // Without O_NONBLOCK, opening a pipe blocks until it has a writer.
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY)
  try {
    if (!fstatSync(descriptor).isFile()) throw new Error('it is not a regular file')
    const content = Buffer.alloc(bytesMax + 1)
    let length = 0
    // The reported size may be 0 (files in /proc), or change meanwhile.
    for (let count = -1; count !== 0 && length <= bytesMax; length += count) {
      count = readSync(descriptor, content, length, content.length - length, null)
    }
    if (length > bytesMax) throw new Error(`it is larger than ${bytesMax} bytes`)
    return content.subarray(0, length)
  } finally {
    closeSync(descriptor)
  }
}

/** Why a file could not be read: the system's error code, or the reason given by `readRegularFile`. */
export function fileErrorText(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return code ?? message
}
