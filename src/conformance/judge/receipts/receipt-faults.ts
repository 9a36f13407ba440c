/** The faults which `prove` reports by name: in receipts, and in the files they are compared with. Pure. */
export const RECEIPT_FAULTS = {
  'receipts-missing': 'there is at least one receipt, else nothing was compared',
  'receipts-unreached': 'at least one receipt belongs to a book in the files, else nothing was compared',
  'receipt-malformed': 'a receipt is a compact JWS with every payload member',
  'receipt-type': 'a receipt has alg ES256 and the receipts’ typ',
  'key-unknown': 'a receipt’s key is in the given key set',
  'signature-wrong': 'the signature was made with the key over exactly this receipt',
  'issuer-differs': 'receipts with one key have one issuer',
  'books-equivocal': 'two receipts with one cursor and depth have one book: the operator signed two',
  'executions-equivocal': 'two receipts with one executions window have one hash: the operator signed two',
  'receipt-repeated': 'a subscription is sent each receipt once',
  'market-differs': 'a receipt names the same market as its heartbeat entry',
  'depth-differs': 'the book has the receipt’s depth',
  'decimals-differ': 'prices and amounts have the receipt’s decimals',
  'frame-malformed': 'every line is one tidegate.v1 message',
  'time-order': 'a book’s messages have ascending times within a subscription',
  'message-missing': 'every UPDATE’s predecessor is the message before it in the file',
  'execution-missing':
    'every execution’s predecessor is the execution before it in the file, and none is missing from a window',
  'execution-unsigned': 'every execution before a receipt is in its window or before it',
  'cursor-unknown': 'a receipt’s cursor belongs to a message, or lies where the messages are conflated',
  'version-not-recorded': 'the recording contains the cursor’s market, depth and version',
  'recording-damaged': 'the recording can be read',
  'time-differs': 'the receipt has the commit’s time',
  'book-differs': 'the rebuilt book has the receipt’s hash',
  'updates-differ': 'the UPDATEs after a receipt’s cursor `updates.after` have its number and hash',
  'executions-differ': 'the executions after a receipt’s cursor `executions.after` have its hash',
} as const

export type ReceiptFault = keyof typeof RECEIPT_FAULTS
