/** What every bench says about its samples. */

/** The value below which a share of the samples lies, interpolated. */
function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  const place = (sorted.length - 1) * share;
  const low = sorted[Math.floor(place)] ?? Number.NaN;
  const high = sorted[Math.ceil(place)] ?? Number.NaN;
  return low + (high - low) * (place - Math.floor(place));
}

export function median(values) {
  return quantile(values, 0.5);
}

/**
 * One line of a result table. `floor` is what the same work costs without us,
 * measured in the same run; `limit` is a ratio unless `absolute` is given.
 */
export function row(name, values, { floor, limit, unit = 'ms', ...rest } = {}) {
  const middle = median(values);
  const ratio = floor === undefined ? undefined : middle / median(floor);
  const measured = rest.absolute ? middle : ratio;
  return {
    name,
    unit,
    n: values.length,
    median: middle,
    p10: quantile(values, 0.1),
    p90: quantile(values, 0.9),
    p99: quantile(values, 0.99),
    floor: floor === undefined ? undefined : median(floor),
    ratio,
    limit,
    pass: limit === undefined ? undefined : measured <= limit,
    absolute: rest.absolute === true
  };
}

/** A line that is true or false, without a figure. */
export function fact(name, pass, text) {
  return { name, pass, text };
}

/** A report as a markdown table; also what a terminal shows. */
export function tableOf({ title, rows, notes = [] }) {
  const head =
    '| what | n | median | p10 | p90 | p99 | floor | ratio | limit | verdict |';
  const lines = rows.map((line) =>
    line.text === undefined
      ? `| ${line.name} | ${line.n} | ${figure(line.median)} ${line.unit} | ${figure(line.p10)} | ${figure(line.p90)} | ${figure(line.p99)} | ${figure(line.floor)} | ${ratioOf(line.ratio)} | ${limitOf(line)} | ${verdictOf(line)} |`
      : `| ${line.name} | | ${line.text} | | | | | | | ${verdictOf(line)} |`
  );
  return [
    `## ${title}`,
    '',
    head,
    '|---|---|---|---|---|---|---|---|---|---|',
    ...lines,
    ...(notes.length > 0 ? ['', ...notes.map((note) => `- ${note}`)] : []),
    ''
  ].join('\n');
}

function verdictOf({ pass }) {
  if (pass === undefined) return 'no limit';
  return pass ? 'PASS' : '**FAIL**';
}

function limitOf({ limit, absolute, unit }) {
  if (limit === undefined) return '–';
  return absolute ? `≤ ${limit} ${unit}` : `≤ ${limit}×`;
}

function ratioOf(ratio) {
  return ratio === undefined ? '–' : `${ratio.toFixed(2)}×`;
}

function figure(value) {
  if (value === undefined || Number.isNaN(value)) return '–';
  return value >= 100 ? value.toFixed(0) : value.toFixed(value >= 10 ? 1 : 2);
}
