import { goldenHere } from '../../../../test/golden/golden-here.ts';

const looking = ['wait-nothing', 'clean', 'clean-dry-run', 'clean-unsaid'];

goldenHere('agents', [...looking, 'log-verify', 'log-head'], {});
// Answers on stdout count as read.
goldenHere('agents', ['wait-ended'], {});
