/**
 * The TLS 1.3 ciphers in the order that suits the processor. OpenSSL begins with AES, which takes twice the processor
 * time of ChaCha20 for a whole write where the processor has no instructions for it (docs/measurements/fanout.md).
 */
import { readFileSync } from 'node:fs'
import { DEFAULT_CIPHERS } from 'node:tls'

/** Undefined: Node's order. */
export function preferredCiphers(cpuInfo = readCpuInfo()): string | undefined {
  // On ARM the line is called `Features`.
  const features = /^(?:flags|Features)\s*:(.*)$/m.exec(cpuInfo)?.[1]?.trim().split(/\s+/)
  if (features === undefined || features.includes('aes')) return undefined
  const ciphers = DEFAULT_CIPHERS.split(':')
  const isChaCha = (cipher: string) => cipher.includes('CHACHA20')
  return [...ciphers.filter(isChaCha), ...ciphers.filter((cipher) => !isChaCha(cipher))].join(':')
}

/** Empty where the system has no such file. */
function readCpuInfo(): string {
  try {
    return readFileSync('/proc/cpuinfo', 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}
