"""Files of every format, and ways to damage them."""

FILES = {
    "rows.libsvm": "+1 1:1.5 2:-2\n-1\n-1 1:0.25 2:3e-3 # note\n",
    "program.lp": "min\n obj: x + y\nst\n a: x + 2 y >= 2\nbounds\n x <= 4\nend\n",
    "program.mps": "NAME t\nROWS\n N c\n L r\nCOLUMNS\n    x c 1 r 2\nRHS\n    b r 4\nBOUNDS\n UP b x 3\nENDATA\n",
    "table.csv": "a,b,y\n1,2,1\n3,4,0\n",
    "spaces.data": "1 2 0\n3 4 1\n",
    "vrf.txt": "3 2\n0 5 1 6\n0 5 1 6\n0 5 1 6\n",
    "taillard.txt": "number of jobs\n2 2 0 0 0\nprocessing times :\n1 2\n3 4\n",
    "tour.atsp": "NAME: t\nTYPE: ATSP\nDIMENSION: 2\nEDGE_WEIGHT_TYPE: EXPLICIT\n"
    "EDGE_WEIGHT_FORMAT: FULL_MATRIX\nEDGE_WEIGHT_SECTION\n0 1\n2 0\nEOF\n",
    "queens.txt": "queens 8\n",
    "formula.cnf": "c note\np cnf 3 2\n1 -2 0\n3 0\n",
    "weighted.wcnf": "p wcnf 3 2 10\n10 1 -2 0\n3 3 0\n",
    "matrix.qubo": "p qubo 0 3 2 1\n0 0 1.5\n1 1 -2\n0 1 3\n",
    "nk.txt": "4 1 2\n0.1 0.2 0.3 0.4\n0.5 0.6 0.7 0.8\n1.2\n",
    "cut.txt": "3 2\n1 2 4\n2 3 -1\n",
    "glass.txt": "-2 0110\n2\n0 1 1\n2 3 -1\n",
    "trap.boa": "boa trap n=20 k=5\n",
    "cut.mc": "# note\n3 2\n1 2\n2 3\n",
    "graph.col": "c note\np edge 3 2\ne 1 2\ne 2 3\n",
    "bonds.sg": "# note\n3 2\n1 2 1\n2 3 -1.5\n",
    "server.txt": "type: pm\nsize: 2\nname: a b\n\n1 2 1\n2 4 -1\n",
    "matrix.bq": "# note\n3 3\n1 1 4\n1 2 -1\n2 1 3\n",
    "dense.mat": "3\n1 2 0\n2 -4 1\n0 1 0\n",
    "bqp.txt": "2\n2 2\n1 1 4\n1 2 -1\n3 1\n2 3 5\n",
    "goldman.txt": "0.4 00\n1.7 11\n0.1 0.5 0.3 0.9\n0.3 0.2 0.4 0.8\n",
    "jooken.txt": "2\n0 5 3\n1 6 4\n7\n",
    "choice.txt": "mckp 4 10\n0 5 3\n0 6 4\n1 2 2\n1 7 6\n",
    "mknap.txt": "1\n3 2 0\n5 6 7\n1 2 3\n3 4 1\n4 5\n",
    "items.csv": "profit,weight,count\n5,3,1\n6,4,2\n",
    "knap.csv": "k\nn 2\nc 4\nz 0\ntime 0\n1,5,2,0\n2,6,3,0\n-----\n",
}


PIECES = [
    b"-1", b"0", b"99999999999999999999", b"9" * 5000, b"nan", b"inf", b"1e999", b"-", "²".encode(), b"\xff", b"\0",
    b" " * 3000, b"\n" * 50, b"1_0", b"2147483648", b"100000", b"\t", b",", b'"', b"#", b":", b"a" * 140_000,
    b"\x1c", "\u0663".encode(), b"9223372036854775807", b"-----\n",
]  # fmt: skip


def mutant(data, rng):
    """A file with some bytes changed, removed, repeated or replaced by what readers stumble over."""
    content = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        if not content:
            return rng.choice(PIECES)
        start = rng.randrange(len(content))
        stop = min(len(content), start + rng.randrange(1, 40))
        piece = rng.choice(PIECES)
        match rng.randrange(7):
            case 0:
                content[start] = rng.randrange(256)
            case 1:
                del content[start:stop]
            case 2:
                content[start:start] = piece
            case 3:
                content[start:stop] = piece
            case 4:
                content[start:start] = content[start:stop] * rng.randrange(1, 5)
            case 5:
                del content[start:]
            case _:
                words = bytes(content).split(b" ")
                words[rng.randrange(len(words))] = piece
                content = bytearray(b" ".join(words))
    return bytes(content)
