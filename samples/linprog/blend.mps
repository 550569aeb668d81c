NAME blend
ROWS
 N  objective
 L  stock_ore0
 L  stock_ore1
 L  stock_ore2
 L  stock_ore3
 L  stock_ore4
 L  stock_ore5
 L  stock_ore6
 L  stock_ore7
 L  stock_ore8
 L  carbon_steel0
 L  nickel_steel0
 L  silicon_steel0
 L  made_steel0
 L  carbon_steel1
 L  nickel_steel1
 L  silicon_steel1
 L  made_steel1
 L  carbon_steel2
 L  nickel_steel2
 L  silicon_steel2
 L  made_steel2
 L  carbon_steel3
 L  nickel_steel3
 L  silicon_steel3
 L  made_steel3
 E  furnace
COLUMNS
    ore0_steel0 objective -64.0
    ore0_steel0 stock_ore0 1.0
    ore0_steel0 carbon_steel0 -1.3
    ore0_steel0 nickel_steel0 -0.8
    ore0_steel0 silicon_steel0 -2.5
    ore0_steel0 made_steel0 1.0
    ore0_steel0 furnace 1.0
    ore0_steel1 objective -44.0
    ore0_steel1 stock_ore0 1.0
    ore0_steel1 carbon_steel1 -1.0
    ore0_steel1 nickel_steel1 -0.5
    ore0_steel1 silicon_steel1 -2.2
    ore0_steel1 made_steel1 1.0
    ore0_steel1 furnace 1.0
    ore0_steel2 objective -29.0
    ore0_steel2 stock_ore0 1.0
    ore0_steel2 carbon_steel2 -0.8
    ore0_steel2 nickel_steel2 -0.3
    ore0_steel2 silicon_steel2 -2.0
    ore0_steel2 made_steel2 1.0
    ore0_steel2 furnace 1.0
    ore0_steel3 objective -19.0
    ore0_steel3 stock_ore0 1.0
    ore0_steel3 carbon_steel3 -1.1
    ore0_steel3 nickel_steel3 -0.6
    ore0_steel3 silicon_steel3 -2.3
    ore0_steel3 made_steel3 1.0
    ore0_steel3 furnace 1.0
    ore1_steel0 objective -115.0
    ore1_steel0 stock_ore1 1.0
    ore1_steel0 carbon_steel0 0.5
    ore1_steel0 nickel_steel0 -3.0
    ore1_steel0 silicon_steel0 -1.2
    ore1_steel0 made_steel0 1.0
    ore1_steel0 furnace 1.0
    ore1_steel1 objective -95.0
    ore1_steel1 stock_ore1 1.0
    ore1_steel1 carbon_steel1 0.8
    ore1_steel1 nickel_steel1 -2.7
    ore1_steel1 silicon_steel1 -0.9
    ore1_steel1 made_steel1 1.0
    ore1_steel1 furnace 1.0
    ore1_steel2 objective -80.0
    ore1_steel2 stock_ore1 1.0
    ore1_steel2 carbon_steel2 1.0
    ore1_steel2 nickel_steel2 -2.5
    ore1_steel2 silicon_steel2 -0.7
    ore1_steel2 made_steel2 1.0
    ore1_steel2 furnace 1.0
    ore1_steel3 objective -70.0
    ore1_steel3 stock_ore1 1.0
    ore1_steel3 carbon_steel3 0.7
    ore1_steel3 nickel_steel3 -2.8
    ore1_steel3 silicon_steel3 -1.0
    ore1_steel3 made_steel3 1.0
    ore1_steel3 furnace 1.0
    ore2_steel0 objective -108.0
    ore2_steel0 stock_ore2 1.0
    ore2_steel0 carbon_steel0 -0.8
    ore2_steel0 nickel_steel0 -1.1
    ore2_steel0 made_steel0 1.0
    ore2_steel0 furnace 1.0
    ore2_steel1 objective -88.0
    ore2_steel1 stock_ore2 1.0
    ore2_steel1 carbon_steel1 -0.5
    ore2_steel1 nickel_steel1 -0.8
    ore2_steel1 silicon_steel1 0.3
    ore2_steel1 made_steel1 1.0
    ore2_steel1 furnace 1.0
    ore2_steel2 objective -73.0
    ore2_steel2 stock_ore2 1.0
    ore2_steel2 carbon_steel2 -0.3
    ore2_steel2 nickel_steel2 -0.6
    ore2_steel2 silicon_steel2 0.5
    ore2_steel2 made_steel2 1.0
    ore2_steel2 furnace 1.0
    ore2_steel3 objective -63.0
    ore2_steel3 stock_ore2 1.0
    ore2_steel3 carbon_steel3 -0.6
    ore2_steel3 nickel_steel3 -0.9
    ore2_steel3 silicon_steel3 0.2
    ore2_steel3 made_steel3 1.0
    ore2_steel3 furnace 1.0
    ore3_steel0 objective -104.0
    ore3_steel0 stock_ore3 1.0
    ore3_steel0 carbon_steel0 0.5
    ore3_steel0 nickel_steel0 2.0
    ore3_steel0 silicon_steel0 -1.8
    ore3_steel0 made_steel0 1.0
    ore3_steel0 furnace 1.0
    ore3_steel1 objective -84.0
    ore3_steel1 stock_ore3 1.0
    ore3_steel1 carbon_steel1 0.8
    ore3_steel1 nickel_steel1 2.3
    ore3_steel1 silicon_steel1 -1.5
    ore3_steel1 made_steel1 1.0
    ore3_steel1 furnace 1.0
    ore3_steel2 objective -69.0
    ore3_steel2 stock_ore3 1.0
    ore3_steel2 carbon_steel2 1.0
    ore3_steel2 nickel_steel2 2.5
    ore3_steel2 silicon_steel2 -1.3
    ore3_steel2 made_steel2 1.0
    ore3_steel2 furnace 1.0
    ore3_steel3 objective -59.0
    ore3_steel3 stock_ore3 1.0
    ore3_steel3 carbon_steel3 0.7
    ore3_steel3 nickel_steel3 2.2
    ore3_steel3 silicon_steel3 -1.6
    ore3_steel3 made_steel3 1.0
    ore3_steel3 furnace 1.0
    ore4_steel0 objective -108.0
    ore4_steel0 stock_ore4 1.0
    ore4_steel0 nickel_steel0 0.5
    ore4_steel0 silicon_steel0 -1.7
    ore4_steel0 made_steel0 1.0
    ore4_steel0 furnace 1.0
    ore4_steel1 objective -88.0
    ore4_steel1 stock_ore4 1.0
    ore4_steel1 carbon_steel1 0.3
    ore4_steel1 nickel_steel1 0.8
    ore4_steel1 silicon_steel1 -1.4
    ore4_steel1 made_steel1 1.0
    ore4_steel1 furnace 1.0
    ore4_steel2 objective -73.0
    ore4_steel2 stock_ore4 1.0
    ore4_steel2 carbon_steel2 0.5
    ore4_steel2 nickel_steel2 1.0
    ore4_steel2 silicon_steel2 -1.2
    ore4_steel2 made_steel2 1.0
    ore4_steel2 furnace 1.0
    ore4_steel3 objective -63.0
    ore4_steel3 stock_ore4 1.0
    ore4_steel3 carbon_steel3 0.2
    ore4_steel3 nickel_steel3 0.7
    ore4_steel3 silicon_steel3 -1.5
    ore4_steel3 made_steel3 1.0
    ore4_steel3 furnace 1.0
    ore5_steel0 objective -64.0
    ore5_steel0 stock_ore5 1.0
    ore5_steel0 carbon_steel0 -3.9
    ore5_steel0 nickel_steel0 2.1
    ore5_steel0 silicon_steel0 -1.7
    ore5_steel0 made_steel0 1.0
    ore5_steel0 furnace 1.0
    ore5_steel1 objective -44.0
    ore5_steel1 stock_ore5 1.0
    ore5_steel1 carbon_steel1 -3.6
    ore5_steel1 nickel_steel1 2.4
    ore5_steel1 silicon_steel1 -1.4
    ore5_steel1 made_steel1 1.0
    ore5_steel1 furnace 1.0
    ore5_steel2 objective -29.0
    ore5_steel2 stock_ore5 1.0
    ore5_steel2 carbon_steel2 -3.4
    ore5_steel2 nickel_steel2 2.6
    ore5_steel2 silicon_steel2 -1.2
    ore5_steel2 made_steel2 1.0
    ore5_steel2 furnace 1.0
    ore5_steel3 objective -19.0
    ore5_steel3 stock_ore5 1.0
    ore5_steel3 carbon_steel3 -3.7
    ore5_steel3 nickel_steel3 2.3
    ore5_steel3 silicon_steel3 -1.5
    ore5_steel3 made_steel3 1.0
    ore5_steel3 furnace 1.0
    ore6_steel0 objective -60.0
    ore6_steel0 stock_ore6 1.0
    ore6_steel0 carbon_steel0 -2.0
    ore6_steel0 nickel_steel0 1.7
    ore6_steel0 made_steel0 1.0
    ore6_steel0 furnace 1.0
    ore6_steel1 objective -40.0
    ore6_steel1 stock_ore6 1.0
    ore6_steel1 carbon_steel1 -1.7
    ore6_steel1 nickel_steel1 2.0
    ore6_steel1 silicon_steel1 0.3
    ore6_steel1 made_steel1 1.0
    ore6_steel1 furnace 1.0
    ore6_steel2 objective -25.0
    ore6_steel2 stock_ore6 1.0
    ore6_steel2 carbon_steel2 -1.5
    ore6_steel2 nickel_steel2 2.2
    ore6_steel2 silicon_steel2 0.5
    ore6_steel2 made_steel2 1.0
    ore6_steel2 furnace 1.0
    ore6_steel3 objective -15.0
    ore6_steel3 stock_ore6 1.0
    ore6_steel3 carbon_steel3 -1.8
    ore6_steel3 nickel_steel3 1.9
    ore6_steel3 silicon_steel3 0.2
    ore6_steel3 made_steel3 1.0
    ore6_steel3 furnace 1.0
    ore7_steel0 objective -80.0
    ore7_steel0 stock_ore7 1.0
    ore7_steel0 carbon_steel0 -1.1
    ore7_steel0 nickel_steel0 0.9
    ore7_steel0 silicon_steel0 -3.3
    ore7_steel0 made_steel0 1.0
    ore7_steel0 furnace 1.0
    ore7_steel1 objective -60.0
    ore7_steel1 stock_ore7 1.0
    ore7_steel1 carbon_steel1 -0.8
    ore7_steel1 nickel_steel1 1.2
    ore7_steel1 silicon_steel1 -3.0
    ore7_steel1 made_steel1 1.0
    ore7_steel1 furnace 1.0
    ore7_steel2 objective -45.0
    ore7_steel2 stock_ore7 1.0
    ore7_steel2 carbon_steel2 -0.6
    ore7_steel2 nickel_steel2 1.4
    ore7_steel2 silicon_steel2 -2.8
    ore7_steel2 made_steel2 1.0
    ore7_steel2 furnace 1.0
    ore7_steel3 objective -35.0
    ore7_steel3 stock_ore7 1.0
    ore7_steel3 carbon_steel3 -0.9
    ore7_steel3 nickel_steel3 1.1
    ore7_steel3 silicon_steel3 -3.1
    ore7_steel3 made_steel3 1.0
    ore7_steel3 furnace 1.0
    ore8_steel0 objective -118.0
    ore8_steel0 stock_ore8 1.0
    ore8_steel0 carbon_steel0 0.3
    ore8_steel0 nickel_steel0 -1.5
    ore8_steel0 silicon_steel0 -3.0
    ore8_steel0 made_steel0 1.0
    ore8_steel0 furnace 1.0
    ore8_steel1 objective -98.0
    ore8_steel1 stock_ore8 1.0
    ore8_steel1 carbon_steel1 0.6
    ore8_steel1 nickel_steel1 -1.2
    ore8_steel1 silicon_steel1 -2.7
    ore8_steel1 made_steel1 1.0
    ore8_steel1 furnace 1.0
    ore8_steel2 objective -83.0
    ore8_steel2 stock_ore8 1.0
    ore8_steel2 carbon_steel2 0.8
    ore8_steel2 nickel_steel2 -1.0
    ore8_steel2 silicon_steel2 -2.5
    ore8_steel2 made_steel2 1.0
    ore8_steel2 furnace 1.0
    ore8_steel3 objective -73.0
    ore8_steel3 stock_ore8 1.0
    ore8_steel3 carbon_steel3 0.5
    ore8_steel3 nickel_steel3 -1.3
    ore8_steel3 silicon_steel3 -2.8
    ore8_steel3 made_steel3 1.0
    ore8_steel3 furnace 1.0
RHS
    RHS stock_ore0 35.0
    RHS stock_ore1 66.0
    RHS stock_ore2 69.0
    RHS stock_ore3 61.0
    RHS stock_ore4 85.0
    RHS stock_ore5 85.0
    RHS stock_ore6 42.0
    RHS stock_ore7 66.0
    RHS stock_ore8 67.0
    RHS made_steel0 60.0
    RHS made_steel1 80.0
    RHS made_steel2 90.0
    RHS made_steel3 70.0
    RHS furnace 200.0
RANGES
    RANGES made_steel0 40.0
    RANGES made_steel1 50.0
    RANGES made_steel2 65.0
    RANGES made_steel3 60.0
BOUNDS
 UP BOUND ore0_steel0 25.0
 UP BOUND ore1_steel1 25.0
 UP BOUND ore2_steel2 25.0
 UP BOUND ore3_steel3 25.0
 UP BOUND ore5_steel0 25.0
 UP BOUND ore6_steel1 25.0
 UP BOUND ore7_steel2 25.0
 UP BOUND ore8_steel3 25.0
ENDATA
