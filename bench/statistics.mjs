/** The statistics and the tables of all benches. */

/** The value below which a share of the samples lies, interpolated. */
function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  const position = (sorted.length - 1) * share;
  const low = sorted[Math.floor(position)] ?? Number.NaN;
  const high = sorted[Math.ceil(position)] ?? Number.NaN;
  return low + (high - low) * (position - Math.floor(position));
}

export function median(values) {
  return quantile(values, 0.5);
}

/** The slope of the least-squares line through points, and its error. */
export function slopeOf(points) {
  const mean = (values) =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  const [meanX, meanY] = [0, 1].map((axis) =>
    mean(points.map((point) => point[axis]))
  );
  const spread = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  const slope =
    points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0) / spread;
  const rest = points.reduce(
    (sum, [x, y]) => sum + (y - meanY - slope * (x - meanX)) ** 2,
    0
  );
  return { slope, error: Math.sqrt(rest / (points.length - 2) / spread) };
}

/**
 * One row of a result table. `floor` has samples of the same work without
 * troupe, from the same run. The verdict of the table compares with `limit`.
 * `--check` fails above `guard`, which is `limit` by default and higher where
 * a busy machine needs room. Both are ratios unless `absolute` is set. An
 * `advisory` row never fails a check.
 * `summary` is the name in the summary table, for rows that belong there.
 * @param {string} name
 * @param {number[]} values
 * @param {Record<string, unknown>} [options]
 */
export function row(name, values, { floor, limit, unit = 'ms', ...rest } = {}) {
  const middle = median(values);
  const ratio = floor === undefined ? undefined : middle / median(floor);
  const measured = rest.absolute ? middle : ratio;
  const { guard = limit } = rest;
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
    refused: guard !== undefined && !(measured <= guard) && !rest.advisory,
    absolute: rest.absolute === true,
    summary: rest.summary
  };
}

/**
 * A row that is true or false, or only informative.
 * `summary`, `floor` and `reach` are texts for the summary table.
 * @param {string} name
 * @param {boolean | undefined} pass
 * @param {string} text
 * @param {Record<string, string>} [options]
 */
export function fact(name, pass, text, { summary, floor, reach } = {}) {
  return { name, pass, text, refused: pass === false, summary, floor, reach };
}

/** The names of the rows that fail `--check`. */
export function refusedIn({ title, rows }) {
  return rows
    .filter(({ refused }) => refused)
    .map(({ name }) => `${title}: ${name}`);
}

/** A report as a markdown table, also for a terminal. */
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

export function limitOf({ limit, absolute, unit }) {
  if (limit === undefined) return '–';
  return absolute ? `≤ ${limit} ${unit}` : `≤ ${limit}×`;
}

export function ratioOf(ratio) {
  return Number.isFinite(ratio) ? `${ratio.toFixed(2)}×` : '–';
}

/** Of a report that was JSON, null is a figure that could not be measured. */
export function figure(value) {
  if (!Number.isFinite(value)) return '–';
  return value >= 100 ? value.toFixed(0) : value.toFixed(value >= 10 ? 1 : 2);
}
