import { parseSync } from 'rolldown/utils';

const others = {
  '===': '!==',
  '!==': '===',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '&&': '||',
  '||': '&&'
};

/**
 * Every defect that can be planted in a file: a call, a `throw` or an early
 * way out that is missing, a condition that always or never holds, another
 * comparison, the opposite of a boolean.
 * @returns what is replaced, as offsets in UTF-16 code units
 */
export function defectsIn(path, source) {
  const { program, errors } = parseSync(path, source);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0].message}`);
  const found = [];
  const plant = ({ start, end }, text) =>
    found.push({
      ...{ path, start, end, text },
      was: source.slice(start, end),
      line: source.slice(0, start).split('\n').length
    });
  visit(program, (node) => {
    if (isDroppable(node)) plant(node, ';');
    const { test } = node;
    if (/^(If|While)Statement$|^ConditionalExpression$/.test(node.type)) {
      if (node.type !== 'WhileStatement') plant(test, 'true');
      plant(test, 'false');
    }
    const other = others[node.operator];
    if (/^(Binary|Logical)Expression$/.test(node.type) && other)
      plant(node, operated(node, other, source));
    if (node.type === 'Literal' && typeof node.value === 'boolean')
      plant(node, String(!node.value));
  });
  return found;
}

function operated({ left, right, operator }, other, source) {
  const between = source.slice(left.end, right.start);
  const text = between.replace(operator, other);
  return (
    source.slice(left.start, left.end) +
    text +
    source.slice(right.start, right.end)
  );
}

/** A statement without which the file is still a program. */
function isDroppable({ type, expression, argument }) {
  if (type === 'ThrowStatement' || type === 'ContinueStatement') return true;
  if (type === 'ReturnStatement') return !argument;
  if (type !== 'ExpressionStatement') return false;
  const called =
    expression.type === 'AwaitExpression' ? expression.argument : expression;
  const call = called.type === 'ChainExpression' ? called.expression : called;
  return call.type === 'CallExpression' && call.callee.type !== 'Super';
}

/** Types are no code. */
function visit(node, look) {
  if (/^TS.*(Type|Interface|Declaration|Annotation)/.test(node.type)) return;
  look(node);
  for (const value of Object.values(node))
    for (const child of Array.isArray(value) ? value : [value])
      if (child && typeof child.type === 'string') visit(child, look);
}
