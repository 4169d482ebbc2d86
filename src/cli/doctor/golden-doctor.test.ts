import { goldenHere } from '../../../test/golden/golden-here.ts';

goldenHere('facts', ['doctor'], { agents: [] });
