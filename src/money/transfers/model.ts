/** The types, statuses and directions of transfers. */

export const TRANSFER_TYPES = [
  'CRYPTO_DEPOSIT',
  'CRYPTO_WITHDRAWAL',
  'WIRE_DEPOSIT',
  'WIRE_WITHDRAWAL',
  'CUBIX_DEPOSIT',
  'CUBIX_WITHDRAWAL',
  'CONVERSION',
  'INTERNAL_TRANSFER',
] as const

export type TransferType = (typeof TRANSFER_TYPES)[number]

export const TRANSFER_STATUSES = ['PENDING', 'COMPLETED', 'FAILED'] as const

export type TransferStatus = (typeof TRANSFER_STATUSES)[number]

export const TRANSFER_SECONDARY_STATUSES = ['HELD', 'REVERSED', 'RETURNED'] as const

export type TransferSecondaryStatus = (typeof TRANSFER_SECONDARY_STATUSES)[number]

export const TRANSFER_DIRECTIONS = ['CREDIT', 'DEBIT'] as const

export type TransferDirection = (typeof TRANSFER_DIRECTIONS)[number]
