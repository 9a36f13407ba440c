/** The faults which `prove` reports by name: in receipts, and in the files they are compared with. Pure. */
export const RECEIPT_FAULTS = {
  'receipts-missing': 'there is at least one receipt, else nothing was compared',
  'receipts-unmatched': 'at least one receipt is of a book that the files contain, else nothing was compared',
  'receipt-malformed': 'a receipt is a compact JWS with every member of the payload',
  'receipt-type': 'a receipt has alg ES256 and the typ of receipts',
  'key-unknown': 'the key of a receipt is in the given set of keys',
  'signature-wrong': 'the signature is that of the key over exactly this receipt',
  'market-differs': 'a receipt is of the market of its entry in the heartbeat',
  'depth-differs': 'the book has the depth of the receipt',
  'decimals-differ': 'the recorded market has the decimals of the receipt',
  'frame-malformed': 'every line is one message of tidegate.v1',
  'message-missing': 'the predecessor of every UPDATE is the message before it in the file',
  'execution-missing': 'the predecessor of every execution is the execution before it in the file',
  'cursor-unknown': 'the cursor of a receipt is that of a message, or lies where the messages are conflated',
  'version-not-recorded': 'the recording contains the market, the depth and the version that the cursor names',
  'recording-damaged': 'the recording can be read',
  'time-differs': 'the receipt has the time of the commit',
  'digest-differs': 'the digest of the receipt is that of the rebuilt book',
} as const

export type ReceiptFault = keyof typeof RECEIPT_FAULTS
