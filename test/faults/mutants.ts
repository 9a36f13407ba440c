/**
 * Every mutant of a source file by the classic operators, from its syntax tree, and the file's text with one of them.
 * Types, texts and statements that only log or count have none.
 */
import ts from 'typescript'

export interface Mutant {
  readonly file: string
  readonly operator: Operator
  readonly line: number
  /** The replaced source text and its place. */
  readonly start: number
  readonly end: number
  readonly replacement: string
  /** Where the innermost enclosing statement or arrow body begins and ends. */
  readonly place: Place
}

type Operator =
  | 'comparison'
  | 'boundary'
  | 'arithmetic'
  | 'negation'
  | 'removed statement'
  | 'swapped arguments'
  | 'constant'

interface Place {
  readonly start: number
  readonly end: number
  readonly kind: 'in a block' | 'alone' | 'arrow body'
}

const COMPARISONS: Readonly<Record<string, string>> = {
  '===': '!==',
  '!==': '===',
  '<': '>=',
  '<=': '>',
  '>': '<=',
  '>=': '<',
}
const BOUNDARIES: Readonly<Record<string, string>> = { '<': '<=', '<=': '<', '>': '>=', '>=': '>' }
const ARITHMETIC: Readonly<Record<string, string>> = {
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '%': '*',
  '&': '|',
  '|': '&',
  '<<': '>>',
  '>>': '<<',
  '>>>': '<<',
  '+=': '-=',
  '-=': '+=',
}
const LOGICAL: Readonly<Record<string, string>> = { '&&': '||', '||': '&&' }
const ONLY_REPORTS = /^(?:void |await )?(?:this\.)?#?(?:\w+\.)?#?(?:log|metrics?|counters?|gauges?)\b/

export function mutantsOf(file: string, text: string): Mutant[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const mutants: Mutant[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isInterfaceDeclaration(node)) return
    for (const { operator, replaced = node, replacement } of changesOf(node)) {
      const start = replaced.getStart()
      const line = source.getLineAndCharacterOfPosition(start).line + 1
      mutants.push({ file, operator, line, start, end: replaced.end, replacement, place: placeOf(node) })
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return mutants
}

export function withMutant(text: string, { start, end, replacement }: Mutant): string {
  return text.slice(0, start) + replacement + text.slice(end)
}

/** The text with a call of `report(number)` wherever a mutant would be executed. */
export function withReports(
  text: string,
  mutants: readonly { readonly mutant: Mutant; readonly number: number }[],
  report: string,
): string {
  const parts = mutants.flatMap(({ mutant: { place }, number }) => {
    const { start, end, kind } = place
    const call = `${report}(${number})`
    if (kind === 'in a block') return [{ at: start, order: 1, text: `;${call};` }]
    const [open, close] = kind === 'alone' ? [`{${call};`, '}'] : [`(${call},`, ')']
    // Of two with the same end, the inner one is closed first; each is opened and closed as often as the other.
    return [
      { at: start, order: 1, text: open },
      { at: end, order: 0, text: close },
    ]
  })
  let result = ''
  let done = 0
  for (const part of parts.sort((left, right) => left.at - right.at || left.order - right.order)) {
    result += text.slice(done, part.at) + part.text
    done = part.at
  }
  return result + text.slice(done)
}

interface Change {
  readonly operator: Operator
  /** The node itself where absent. */
  readonly replaced?: ts.Node
  readonly replacement: string
}

function changesOf(node: ts.Node): Change[] {
  if (ts.isBinaryExpression(node)) return binaryChanges(node)
  if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken)
    return [{ operator: 'negation', replacement: node.operand.getText() }]
  if (ts.isIfStatement(node) || ts.isConditionalExpression(node)) {
    const condition = ts.isIfStatement(node) ? node.expression : node.condition
    return isSimple(condition)
      ? [{ operator: 'negation', replaced: condition, replacement: `!(${condition.getText()})` }]
      : []
  }
  if (node.kind === ts.SyntaxKind.TrueKeyword) return [{ operator: 'constant', replacement: 'false' }]
  if (node.kind === ts.SyntaxKind.FalseKeyword) return [{ operator: 'constant', replacement: 'true' }]
  if (ts.isNumericLiteral(node) || ts.isBigIntLiteral(node)) return constantChanges(node)
  if (ts.isCallExpression(node)) return swapChanges(node)
  return isRemovable(node) ? [{ operator: 'removed statement', replacement: ';' }] : []
}

function binaryChanges({ left, operatorToken, right }: ts.BinaryExpression): Change[] {
  const token = operatorToken.getText()
  const change = (operator: Operator, other: string | undefined): Change[] =>
    other === undefined ? [] : [{ operator, replaced: operatorToken, replacement: other }]
  const isText = [left, right].some((side) => ts.isStringLiteralLike(side) || ts.isTemplateExpression(side))
  return [
    ...change('comparison', COMPARISONS[token]),
    ...change('boundary', BOUNDARIES[token]),
    ...change('arithmetic', isText ? undefined : ARITHMETIC[token]),
    ...change('negation', LOGICAL[token]),
  ]
}

/** Names and calls: comparisons and negations have their own operators. */
function isSimple(condition: ts.Expression): boolean {
  return ts.isIdentifier(condition) || ts.isPropertyAccessExpression(condition) || ts.isCallExpression(condition)
}

function constantChanges(node: ts.NumericLiteral | ts.BigIntLiteral): Change[] {
  if (ts.isPropertyAssignment(node.parent) && node.parent.name === node) return []
  const suffix = ts.isBigIntLiteral(node) ? 'n' : ''
  const value = Number(node.text.replace(/n$/, '').replaceAll('_', ''))
  return [{ operator: 'constant', replacement: `${value + 1}${suffix}` }]
}

function swapChanges(node: ts.CallExpression): Change[] {
  const [first, second] = node.arguments
  if (first === undefined || second === undefined || first.getText() === second.getText()) return []
  const isPlain = (argument: ts.Expression) =>
    ts.isIdentifier(argument) || ts.isPropertyAccessExpression(argument) || ts.isNumericLiteral(argument)
  if (!isPlain(first) || !isPlain(second)) return []
  const text = node.getText()
  const offset = node.getStart()
  const between = text.slice(first.end - offset, second.getStart() - offset)
  const before = text.slice(0, first.getStart() - offset)
  const replacement = before + second.getText() + between + first.getText() + text.slice(second.end - offset)
  return [{ operator: 'swapped arguments', replacement }]
}

function isRemovable(node: ts.Node): boolean {
  if (ONLY_REPORTS.test(node.getText())) return false
  if (ts.isExpressionStatement(node)) return !node.getText().startsWith('super(')
  if (ts.isReturnStatement(node)) return node.expression === undefined
  return ts.isThrowStatement(node) || ts.isContinueStatement(node) || ts.isBreakStatement(node)
}

function placeOf(node: ts.Node): Place {
  const { parent } = node
  const [start, end] = [node.getStart(), node.end]
  if (parent === undefined || ts.isSourceFile(parent)) return { start, end, kind: 'in a block' }
  if (ts.isArrowFunction(parent) && parent.body === node && !ts.isBlock(node)) return { start, end, kind: 'arrow body' }
  if (!ts.isStatement(node) || ts.isLabeledStatement(parent) || ts.isBlock(node)) return placeOf(parent)
  const isInBlock = ts.isBlock(parent) || ts.isCaseOrDefaultClause(parent)
  return { start, end, kind: isInBlock ? 'in a block' : 'alone' }
}
